/// Rows as the service left them with each version of the tables, for tests that add rows of their own; `StoredSample` has
/// whole files. A version that was released stays as it is.
///
/// Each is added to empty tables of its version: session `s` of `/app` with task 1, which is over with a file of 5 bytes,
/// and task 2, which is suspended with 7 of 9 bytes.
enum SchemaSample {
  /// By the name of the last migration that the version had.
  static let rows: [String: String] = [
    "1 transfers": first,
    "2 holders": first + #"""
      UPDATE sessions SET holder = CAST('{"bootID":"b","process":{"pid":7,"startTime":8}}' AS BLOB);
      """#,
    "3 judgements": first + "UPDATE sessions SET judgesConnections = 1;",
    "4 passwords": first + "UPDATE transfers SET password = X'0102' WHERE id = 2;",
    "5 first numbers": first + """
      UPDATE apps SET firstTaskIdentifier = 3, firstSequence = 3;
      UPDATE firstNumbers SET taskIdentifier = 9, sequence = 9;
      """,
    "6 uploads, holds and limits": sixth,
    "7 begun requests": seventh,
    "8 recorded changes": seventh + "UPDATE firstNumbers SET recordedChanges = 5;",
  ]

  private static let sixth =
    first + """
      UPDATE apps SET unseenDays = 4, counted = 1700000000.0;
      UPDATE transfers SET host = 'h', held = 1;
      UPDATE transfers SET sealedRequest = X'0201' WHERE id = 2;
      UPDATE sessions SET recentLaunches = 2, sealedFields = X'0202';
      """

  private static let seventh = sixth + "UPDATE transfers SET begun = 1 WHERE id = 2;"

  private static let first = #"""
    INSERT INTO apps (id, path, executable)
      VALUES (1, '/app', CAST('{"device":1,"inode":2,"owner":3,"path":"/app"}' AS BLOB));
    INSERT INTO sessions (id, app, identifier, options, nextTaskIdentifier, nextSequence)
      VALUES (1, 1, 's', CAST('{"timeoutIntervalForRequest":33}' AS BLOB), 3, 3);
    INSERT INTO transfers (id, session, taskIdentifier, token, state, host, priority, description, response, validator,
      committedOffset, expectedTotal, created, finished)
      VALUES (1, 1, 1, 'token-1', 'completed', 'http://h:80', 0.5, CAST('{"countOfBytesClientExpectsToReceive":-1,
        "countOfBytesClientExpectsToSend":-1,"kind":"download","priority":0.5,"request":{"headers":[["X-A","b"]],
        "method":"GET","url":"http://h/1"},"startsImmediately":true,"taskIdentifier":1,"token":"token-1"}' AS BLOB),
        CAST('{"expectedContentLength":5,"headers":[],"status":200,"url":"http://h/1","version":"HTTP/1.1"}' AS BLOB),
        NULL, 5, 5, 1700000000.0, 1700000001.0);
    INSERT INTO transfers (id, session, taskIdentifier, token, state, host, priority, description, response, validator,
      committedOffset, expectedTotal, created)
      VALUES (2, 1, 2, 'token-2', 'suspended', 'http://h:80', 0.25, CAST('{"countOfBytesClientExpectsToReceive":-1,
        "countOfBytesClientExpectsToSend":-1,"kind":"download","priority":0.25,"request":{"headers":[],
        "method":"GET","url":"http://h/2"},"startsImmediately":false,"taskIdentifier":2,"token":"token-2"}' AS BLOB),
        CAST('{"expectedContentLength":9,"headers":[],"status":200,"url":"http://h/2","version":"HTTP/1.1"}' AS BLOB),
        CAST('{"entityTag":"\"e\"","isLastModifiedStrong":false}' AS BLOB), 7, 9, 1700000000.0);
    INSERT INTO events (session, sequence, transfer, kind, completion) VALUES
      (1, 1, 1, 'finishedDownloading', CAST('{"countOfBytesExpectedToReceive":5,"countOfBytesReceived":5,"response":
        {"expectedContentLength":5,"headers":[],"status":200,"url":"http://h/1","version":"HTTP/1.1"}}' AS BLOB)),
      (1, 2, 1, 'completed', CAST('{"countOfBytesExpectedToReceive":5,"countOfBytesReceived":5,"response":
        {"expectedContentLength":5,"headers":[],"status":200,"url":"http://h/1","version":"HTTP/1.1"}}' AS BLOB));
    """#
}
