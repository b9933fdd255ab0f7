package struct CancelledTask: Codable, Sendable, Equatable {
  package var resumePoint: ResumePoint?
  /// Of an upload.
  package var uploadPoint: UploadPoint?

  package init(resumePoint: ResumePoint? = nil, uploadPoint: UploadPoint? = nil) {
    self.resumePoint = resumePoint
    self.uploadPoint = uploadPoint
  }
}
