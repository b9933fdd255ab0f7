#!/usr/bin/env python3
"""The web page of `urlsession web`, as Chromium and other clients see it.

    Tests/WebBrowser/page_tests.py FOLDER [--pictures FOLDER] [options of unittest]

FOLDER has the programs, built with the web page. Everything runs in folders of its own, on this machine alone.
"""

import contextlib
import http.client
import http.server
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from prometheus_client.parser import text_string_to_metric_families
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

PROGRAMS = os.path.abspath(sys.argv[1])
PICTURES = None
PATIENCE = 60
METRICS_TOKEN = "metrics-token-of-the-test"


class Files(http.server.ThreadingHTTPServer):
    """Files whose second half is sent once the gate is open. The connection of /busy ends after the first half, and the
    rest is refused with 503."""

    daemon_threads = True
    size = 4 << 20

    def __init__(self):
        self.gate = threading.Event()
        self.paths = []
        super().__init__(("127.0.0.1", 0), Handler)

    def url(self, path):
        return "http://127.0.0.1:%d%s" % (self.server_port, path)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        is_busy = self.path == "/busy"
        self.server.paths.append(self.path)
        if is_busy and self.headers["Range"]:
            self.send_response(503)
            self.send_header("Content-Length", "0")
            self.send_header("Retry-After", "3600")
            self.end_headers()
            return
        half = bytes(self.server.size // 2)
        self.send_response(200)
        self.send_header("Content-Length", str(self.server.size))
        self.send_header("ETag", '"1"')
        self.end_headers()
        try:
            self.wfile.write(half)
            self.wfile.flush()
            if is_busy:
                self.close_connection = True
                return
            self.server.gate.wait(PATIENCE)
            self.wfile.write(half)
        except OSError:
            self.close_connection = True

    def log_message(self, *arguments):
        pass


class World:
    """A home of its own for the programs, with the page's server and the files to load."""

    def __init__(self):
        # Short: the path of a Unix socket has 107 bytes.
        self.folder = tempfile.mkdtemp(prefix="web.", dir="/tmp")
        self.environment = {
            "PATH": "/usr/bin:/bin", "HOME": self.folder, "LANG": "C.UTF-8",
            "URLSESSIOND_PATH": PROGRAMS + "/urlsessiond",
        }
        for name in ["STATE_HOME", "CACHE_HOME", "DATA_HOME", "CONFIG_HOME", "RUNTIME_DIR"]:
            path = "%s/%s" % (self.folder, name[0].lower())
            os.makedirs(path, 0o700, exist_ok=True)
            self.environment["XDG_" + name] = path
        token = self.folder + "/token"
        with open(os.open(token, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(METRICS_TOKEN + "\n")
        self.files = Files()
        threading.Thread(target=self.files.serve_forever, daemon=True).start()
        self.page = subprocess.Popen(
            [PROGRAMS + "/urlsession", "web", "--metrics-token-file", token], env=self.environment,
            stdout=subprocess.PIPE, text=True)
        self.link = self.page.stdout.readline().strip()
        match = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=([0-9a-f]{64})", self.link)
        assert match, self.link
        self.port, self.token = int(match[1]), match[2]
        # The secret path, once signed in.
        self.root = None

    def run(self, *arguments):
        done = subprocess.run(
            [PROGRAMS + "/urlsession", *arguments], env=self.environment, cwd=self.folder, capture_output=True,
            text=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def download(self, path):
        return json.loads(self.run("download", "--json", self.files.url(path)))["transfer"]

    def kill_service(self):
        """Ends whatever runs in this world but the page."""
        mark = ("XDG_RUNTIME_DIR=" + self.environment["XDG_RUNTIME_DIR"]).encode()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/environ" % pid, "rb") as file:
                    if mark in file.read().split(b"\0") and int(pid) not in [os.getpid(), self.page.pid]:
                        os.kill(int(pid), signal.SIGKILL)
            except OSError:
                pass

    def close(self):
        self.files.gate.set()
        self.page.send_signal(signal.SIGTERM)
        self.page.wait(PATIENCE)
        self.page.stdout.close()
        self.kill_service()
        self.files.shutdown()
        self.files.server_close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def request(self, method, path, body=None, address="127.0.0.1", **fields):
        """The response, with its body read. A field whose name has an underscore gets a hyphen. A path without a slash
        is below the secret one."""
        connection = http.client.HTTPConnection(address, self.port, timeout=PATIENCE)
        fields = {name.replace("_", "-"): value for name, value in fields.items() if value is not None}
        connection.request(method, path if path.startswith("/") else self.root + path, body, fields)
        response = connection.getresponse()
        response.text = response.read().decode()
        connection.close()
        return response

    def sign_in(self):
        response = self.request("GET", "/?token=" + self.token)
        assert response.status == 200, response.status
        cookie, *attributes = response.getheader("Set-Cookie").split("; ")
        match = re.fullmatch(r"Path=(/[0-9a-f]{32}/)", attributes[0])
        assert match and attributes[1:] == ["HttpOnly", "SameSite=Strict"], attributes
        self.root = match[1]
        assert 'content="0; url=%s"' % self.root in response.text
        return cookie


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
        return True
    except OSError:
        return False


def eventually(check, reason, patience=PATIENCE):
    """Another process does it, and its progress can only be looked at."""
    deadline = time.monotonic() + patience
    while True:
        value = check()
        if value:
            return value
        assert time.monotonic() < deadline, reason
        time.sleep(0.02)


class ServerTests(unittest.TestCase):
    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)

    def test_answers_the_browser_of_the_link_alone(self):
        world = self.world
        self.assertEqual(world.request("GET", "/").status, 401)
        self.assertEqual(world.request("GET", "/transfers").status, 401)
        cookie = world.sign_in()
        used = world.request("GET", "/?token=" + world.token, Accept="text/html")
        self.assertEqual(used.status, 401, "the link is good once")
        self.assertTrue(used.text.startswith("This link was used already"), used.text)
        page = world.request("GET", "", Cookie=cookie)
        self.assertEqual(page.status, 200)
        policy = page.getheader("Content-Security-Policy")
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("unsafe", policy)
        self.assertEqual(page.getheader("Cache-Control"), "no-store")
        self.assertEqual(page.getheader("Referrer-Policy"), "no-referrer")
        self.assertEqual(page.getheader("X-Content-Type-Options"), "nosniff")
        self.assertEqual(world.request("GET", "").status, 401, "the path alone opens nothing")
        self.assertEqual(world.request("GET", "/transfers", Cookie=cookie).status, 401, "the cookie alone neither")
        self.assertEqual(world.request("GET", "/%032x/" % 0, Cookie=cookie).status, 401)
        self.assertEqual(world.request("GET", "", Cookie=cookie, Sec_Fetch_Site="same-site").status, 403)
        for host in ["evil.example:%d", "127.0.0.1.evil.example:%d", "127.0.0.1:1%d", "localhost.:%d"]:
            self.assertEqual(world.request("GET", "", Cookie=cookie, Host=host % world.port).status, 421, host)
        for host in ["localhost:%d", "[::1]:%d"]:
            self.assertEqual(world.request("GET", "", Cookie=cookie, Host=host % world.port).status, 200, host)
        self.assertEqual(world.request("GET", "nothing", Cookie=cookie).status, 404)
        self.assertEqual(world.request("GET", "transfers/x/tries", Cookie=cookie).status, 404)

    def test_listens_on_all_loopback_addresses_and_on_no_other(self):
        port = "%04X" % self.world.port
        listening = set()
        for table in ["/proc/net/tcp", "/proc/net/tcp6"]:
            if os.path.exists(table):
                with open(table) as file:
                    lines = [line.split() for line in file]
                listening |= {line[1].split(":")[0] for line in lines if line[1].endswith(":" + port) and line[3] == "0A"}
        expected = {"0100007F"}
        if has_ipv6():
            expected.add("00000000000000000000000001000000")
            self.assertEqual(self.world.request("GET", "/", address="::1").status, 401)
        self.assertEqual(listening, expected)

    def test_refuses_a_port_that_another_program_has(self):
        for family, address in [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")]:
            if family == socket.AF_INET6 and not has_ipv6():
                continue
            with socket.socket(family) as other:
                other.bind((address, 0))
                other.listen()
                port = other.getsockname()[1]
                done = subprocess.run(
                    [PROGRAMS + "/urlsession", "web", "--port", str(port)], env=self.world.environment,
                    capture_output=True, text=True, timeout=PATIENCE)
                self.assertEqual(done.returncode, 69, done.stderr)
                self.assertEqual(done.stdout, "", "no link is printed")
                self.assertIn("another program listens on ", done.stderr)
                self.assertIn("port %d" % port, done.stderr)

    def test_closes_connections_that_do_not_ask(self):
        with contextlib.ExitStack() as stack:
            silent, slow = [
                stack.enter_context(socket.create_connection(("127.0.0.1", self.world.port))) for _ in range(2)]
            slow.sendall(b"GET / HTTP/1.1\r\nHost: ")
            for connection in [silent, slow]:
                connection.settimeout(PATIENCE)
                self.assertEqual(connection.recv(1), b"")

    def test_serves_the_page_while_others_hold_connections(self):
        world = self.world
        cookie = world.sign_in()
        with contextlib.ExitStack() as stack:
            def connect():
                return stack.enter_context(socket.create_connection(("127.0.0.1", world.port)))

            own = connect()
            own.sendall(
                ("GET %schanges HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nCookie: %s\r\n\r\n" % (world.root, world.port, cookie))
                .encode())
            self.assertIn(b"200", own.recv(4096))
            others = [connect() for _ in range(200)]
            self.assertEqual(world.request("GET", "transfers", Cookie=cookie).status, 200)
            # The first ones made room for the last ones.
            others[0].settimeout(PATIENCE)
            self.assertEqual(others[0].recv(1), b"")
            own.settimeout(0.2)
            try:
                while own.recv(4096):
                    pass
                self.fail("the stream of the page was closed")
            except TimeoutError:
                pass

    def test_has_a_limited_number_of_streams(self):
        world = self.world
        cookie = world.sign_in()

        def stream(stack):
            connection = http.client.HTTPConnection("127.0.0.1", world.port, timeout=PATIENCE)
            stack.callback(connection.close)
            connection.request("GET", world.root + "changes", headers={"Cookie": cookie})
            return connection.getresponse().status

        with contextlib.ExitStack() as stack:
            self.assertEqual([stream(stack) for _ in range(17)], [200] * 16 + [503])
        # Those that were closed leave their places at once.
        with contextlib.ExitStack() as stack:
            eventually(lambda: stream(stack) == 200, "a closed stream still counts", 5)

    def test_acts_for_the_page_alone(self):
        world = self.world
        number = world.download("/file.bin")
        cookie = world.sign_in()
        own = "http://127.0.0.1:%d" % world.port
        path = "transfers/%d/cancel" % number

        def cancel(**fields):
            fields = {"Cookie": cookie, "Origin": own, "Content_Type": "application/json", **fields}
            return world.request("POST", path, "{}", **fields).status

        eventually(lambda: json.loads(world.request("GET", "transfers", Cookie=cookie).text)["serviceRuns"], "no service")
        self.assertEqual(cancel(Origin="http://evil.example"), 403)
        self.assertEqual(cancel(Origin=None), 403)
        self.assertEqual(cancel(Sec_Fetch_Site="cross-site"), 403)
        self.assertEqual(cancel(Content_Type="text/plain"), 415)
        self.assertEqual(cancel(Cookie=None), 401)
        self.assertIsNone(json.loads(world.run("show", "--json", str(number)))["outcome"])
        self.assertEqual(cancel(), 204)
        eventually(lambda: json.loads(world.run("show", "--json", str(number)))["outcome"] == "cancelled", "it goes on")
        missing = world.request(
            "POST", "transfers/999/cancel", "{}", Cookie=cookie, Origin=own, Content_Type="application/json")
        self.assertEqual(missing.status, 404)
        self.assertIn("999", json.loads(missing.text)["error"])

    def test_takes_limits_of_one_transfer(self):
        world = self.world
        number = world.download("/file.bin")
        cookie = world.sign_in()
        own = "http://127.0.0.1:%d" % world.port

        def limit(body, number=number, **fields):
            fields = {"Cookie": cookie, "Origin": own, "Content_Type": "application/json", **fields}
            return world.request("POST", "transfers/%d/limit" % number, body, **fields)

        def limits():
            shown = json.loads(world.run("show", "--json", str(number)))["limits"]
            return [(limit["scope"], limit["bytesPerSecond"]) for limit in shown]

        eventually(lambda: json.loads(world.request("GET", "transfers", Cookie=cookie).text)["serviceRuns"], "no service")
        self.assertEqual(limit('{"bytesPerSecond": 500000}', Origin="http://evil.example").status, 403)
        for body in ["", "[]", '{"bytesPerSecond": 0}', '{"bytesPerSecond": -1}', '{"bytesPerSecond": "x"}']:
            self.assertEqual(limit(body).status, 400, body)
        low = limit('{"bytesPerSecond": 1023}')
        self.assertEqual(low.status, 409)
        self.assertIn("1024 bytes per second at least", json.loads(low.text)["error"])
        self.assertEqual(limit('{"bytesPerSecond": 500000}', number=999).status, 404)
        self.assertEqual(limits(), [])
        self.assertEqual(limit('{"bytesPerSecond": 500000}').status, 204)
        self.assertEqual(limits(), [("transfer", 500000)])
        self.assertEqual(limit('{"bytesPerSecond": null}').status, 204)
        self.assertEqual(limits(), [])

    def test_counts_for_prometheus(self):
        world = self.world

        def metrics():
            response = world.request("GET", "/metrics", Authorization="Bearer " + METRICS_TOKEN)
            self.assertEqual(response.status, 200)
            self.assertEqual(response.getheader("Content-Type"), "text/plain; version=0.0.4; charset=utf-8")
            families = {}
            for family in text_string_to_metric_families(response.text):
                self.assertNotIn(family.name, families)
                self.assertIn(family.type, ["gauge", "counter"])
                self.assertTrue(family.documentation)
                self.assertRegex(family.name, r"^urlsession_[a-z_]+$")
                for sample in family.samples:
                    self.assertEqual(sample.name.endswith("_total"), family.type == "counter", sample.name)
                    self.assertLessEqual(set(sample.labels), {"state", "reason", "transfer", "outcome"})
                    for value in sample.labels.values():
                        self.assertRegex(value, r"^[A-Za-z.]+$|^[0-9]+$", "no URL and no name of a file")
                families[family.name] = family
            for secret in ["ann", "hunter2", "query-secret", "field-secret", "file.bin", "127.0.0.1", self.world.folder]:
                self.assertNotIn(secret, response.text)
            return {
                (sample.name, *sample.labels.values()): sample.value
                for family in families.values() for sample in family.samples
            }

        self.assertEqual(world.request("GET", "/metrics").status, 401)
        self.assertEqual(world.request("GET", "/metrics", Authorization="Bearer x").status, 401)
        self.assertEqual(metrics()[("urlsession_service_up",)], 0)
        self.assertEqual(metrics()[("urlsession_transfers_ended_total", "saved")], 0)
        secret = world.files.url("/file.bin?token=query-secret").replace("http://", "http://ann:hunter2@")
        number = json.loads(
            world.run("download", "--json", "-H", "Authorization: Bearer field-secret", secret))["transfer"]
        half = world.files.size // 2
        received = ("urlsession_transfer_received_bytes", str(number))
        eventually(lambda: metrics().get(received) == half, "the first half does not arrive")
        counts = metrics()
        self.assertEqual(counts[("urlsession_service_up",)], 1)
        self.assertEqual(counts[("urlsession_transfers", "running")], 1)
        self.assertEqual(counts[("urlsession_transfer_size_bytes", str(number))], world.files.size)
        world.files.gate.set()
        ended = ("urlsession_transfers_ended_total", "saved")
        eventually(lambda: metrics().get(ended) == 1, "its end is not counted")
        self.assertGreaterEqual(metrics()[("urlsession_received_bytes_total",)], half)
        self.assertEqual(metrics()[("urlsession_transfers", "running")], 0)


class BrowserTests(unittest.TestCase):
    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        profile = self.world.folder + "/profile"
        for argument in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
                         "--no-proxy-server", "--disable-background-networking", "--user-data-dir=" + profile]:
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.browser = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
        self.addCleanup(self.browser.quit)

    def open(self):
        self.browser.get(self.world.link)
        # The page of the link goes on to the page by itself.
        self.until(lambda: "/?" not in self.browser.current_url, "the link does not lead to the page")
        WebDriverWait(self.browser, PATIENCE).until(lambda _: "Connecting" not in self.text("#summary"))

    def text(self, selector):
        return self.browser.execute_script(
            "const node = document.querySelector(arguments[0]); return node ? node.textContent : '';", selector)

    def until(self, check, reason):
        WebDriverWait(self.browser, PATIENCE, poll_frequency=0.05).until(lambda _: check(), reason)

    def picture(self, name, width, height, scheme):
        if not PICTURES:
            return
        self.browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        self.browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        self.browser.save_screenshot("%s/%s.png" % (PICTURES, name))
        self.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def card(self, number):
        return "[data-transfer='%d'] " % number

    def test_shows_transfers_live_and_cancels_one(self):
        self.open()
        self.assertNotIn("token", self.browser.current_url)
        self.assertIn("does not run", self.text("#summary"))
        waits = self.world.download("/busy")
        runs = self.world.download("/file.bin")
        half = "2.0 MiB of 4.0 MiB"
        self.until(lambda: self.text(self.card(runs) + ".bytes") == half, "progress is not shown")
        self.until(lambda: "503" in self.text(self.card(waits) + ".reason"), "the reason of the wait is not shown")
        self.assertRegex(self.text(self.card(waits) + ".reason"), r"Again in (59:\d\d|1:00:00)\.$")
        self.assertEqual(self.text(self.card(waits) + ".state"), "waiting")
        self.assertEqual(self.text("#summary"), "1 running, 1 waiting or paused")
        self.until(lambda: self.browser.execute_script(
            "return (document.getElementById('line').getAttribute('d') || '').includes('L')"), "no plot")

        # The waterfall of the one that waits: half a file, then a refusal.
        self.browser.find_element(By.CSS_SELECTOR, self.card(waits) + "details summary").click()
        self.until(lambda: "status 503" in self.text(self.card(waits) + ".tries"), "no request is shown")
        tries = self.browser.find_elements(By.CSS_SELECTOR, self.card(waits) + ".tries li")
        self.assertGreaterEqual(len(tries), 2)
        self.assertIn("status 200", tries[0].text)
        self.assertIn("2.0 MiB", tries[0].text)
        self.assertIn("from 2.0 MiB", tries[-1].text)
        self.assertIn("failed", tries[-1].get_attribute("class"))
        self.assertTrue(tries[0].find_elements(By.CSS_SELECTOR, "rect.request"), "a request has no phases")
        self.assertIn("wait", tries[0].find_element(By.CSS_SELECTOR, ".phases").text)
        bars = self.browser.execute_script(
            "return [...document.querySelectorAll(arguments[0])].map((bar) => Number(bar.getAttribute('x')))",
            self.card(waits) + ".tries rect.wait")
        self.assertEqual(bars, sorted(bars), "a later request is not to the right")
        self.picture("web-page-light", 800, 1000, "light")
        self.picture("web-page-narrow-dark", 320, 1200, "dark")
        self.assertEqual(self.overflow(320), 0, "a narrow page is as wide as the window")

        self.press(runs, "pause")
        self.until(lambda: self.text(self.card(runs) + ".state") == "paused", "it is not paused")
        self.assertEqual(json.loads(self.world.run("show", "--json", str(runs)))["waiting"]["code"], "pausedByUser")
        self.press(runs, "resume")
        self.until(lambda: self.text(self.card(runs) + ".state") == "running", "it does not go on")

        asked = self.world.files.paths.count("/busy")
        self.press(waits, "retry")
        self.until(lambda: self.world.files.paths.count("/busy") > asked, "it is not tried")
        self.until(lambda: self.text(self.card(waits) + ".state") == "waiting", "the second refusal is not shown")

        self.press_step(waits, "ask")
        self.press_step(waits, "keep")
        self.assertEqual(self.text(self.card(waits) + ".state"), "waiting")
        self.press_step(waits, "ask")
        self.press(waits, "cancel")
        self.until(lambda: self.text("#over " + self.card(waits) + ".state") == "cancelled", "it is not cancelled")
        self.world.files.gate.set()
        self.until(lambda: self.text("#over " + self.card(runs) + ".state") == "saved", "its end is not shown")
        self.expect_no_problem()

    def expect_no_problem(self):
        self.assertFalse(self.browser.execute_script(
            "return [...document.querySelectorAll('.problem')].map((node) => node.textContent).join('');"))
        # A browser asks for an icon by itself, outside of the page's secret path.
        said = [entry for entry in self.browser.get_log("browser") if "/favicon.ico" not in entry["message"]]
        self.assertEqual(said, [], "the browser has nothing to say")

    def press(self, number, action):
        self.click(self.card(number) + "[data-action=%s]" % action)

    def press_step(self, number, step):
        self.click(self.card(number) + "[data-step=%s]" % step)

    def click(self, selector):
        self.until(lambda: self.browser.find_element(By.CSS_SELECTOR, selector).is_displayed(), "no " + selector)
        self.browser.find_element(By.CSS_SELECTOR, selector).click()

    def service_limits(self, number):
        shown = json.loads(self.world.run("show", "--json", str(number)))["limits"]
        return [(limit["bytesPerSecond"], limit["between"]) for limit in shown if limit["scope"] == "service"]

    def test_sets_the_limit_of_all_transfers(self):
        self.open()
        number = self.world.download("/file.bin")
        self.until(lambda: self.text("#limits") == "There is no limit.", "the lack of a limit is not shown")
        self.until(lambda: self.browser.find_element(By.ID, "limit").is_displayed(), "the form is not shown")
        self.assertFalse(self.browser.find_element(By.ID, "limit-remove").is_enabled())

        self.browser.find_element(By.ID, "limit-value").send_keys("0.5")
        self.click("#limit [type=submit]")
        self.assertEqual(self.service_limits(number), [], "the form takes less than the service")
        self.browser.find_element(By.ID, "limit-value").clear()
        self.browser.find_element(By.ID, "limit-value").send_keys("512")
        self.click("#limit [type=submit]")
        self.until(lambda: self.text("#limits") == "Now: 512 KiB/s.", "the limit is not shown")
        self.assertEqual(self.service_limits(number), [(512 * 1024, None)])

        # One that is set elsewhere is shown, too.
        self.world.run("limit", "--all", "1MiB", "--between", "22:00-06:00")
        self.until(
            lambda: self.text("#limits") == "Now: 512 KiB/s, 1.0 MiB/s from 22:00 to 06:00.", "it is not shown")
        self.world.run("limit", str(number), "2MiB")
        self.until(
            lambda: self.text(self.card(number) + ".limits") == "Limit: this transfer 2.0 MiB/s", "its own is not shown")

        self.click("#limit-remove")
        self.until(lambda: self.text("#limits") == "There is no limit.", "the limit is not removed")
        self.assertEqual(self.service_limits(number), [])

        # Without a transfer under way nothing tells of a change but the page's own request.
        self.press_step(number, "ask")
        self.press(number, "cancel")
        self.until(lambda: self.text("#over " + self.card(number) + ".state") == "cancelled", "it is not cancelled")
        self.click("#limit [type=submit]")
        self.until(lambda: self.text("#limits") == "Now: 512 KiB/s.", "the limit is not shown without a transfer")
        self.expect_no_problem()

    def test_sets_the_limit_of_one_transfer(self):
        self.open()
        limited = self.world.download("/file.bin")
        other = self.world.download("/other.bin")
        form = self.card(limited) + "form.limit "
        self.press_step(limited, "limit")
        self.browser.find_element(By.CSS_SELECTOR, form + "input").send_keys("256")
        self.click(form + "[type=submit]")
        text = "Limit: this transfer 256 KiB/s"
        self.until(lambda: self.text(self.card(limited) + ".limits") == text, "the limit is not shown")
        self.until(lambda: not self.browser.find_element(By.CSS_SELECTOR, form).is_displayed(), "the form stays open")
        self.assertEqual(self.text(self.card(other) + ".limits"), "")
        self.assertEqual(self.service_limits(limited), [])
        self.assertEqual(self.text("#limits"), "There is no limit.")

        self.press_step(limited, "limit")
        self.press_step(limited, "unlimit")
        self.until(lambda: self.text(self.card(limited) + ".limits") == "", "the limit is not removed")
        self.assertEqual(json.loads(self.world.run("show", "--json", str(limited)))["limits"], [])
        self.press_step(limited, "limit")
        self.press_step(limited, "leave")
        self.assertFalse(self.browser.find_element(By.CSS_SELECTOR, form).is_displayed())
        self.expect_no_problem()

    def test_tells_when_a_transfer_begins(self):
        self.open()
        number = json.loads(self.world.run(
            "download", "--json", "--not-before", "2h", self.world.files.url("/file.bin")))["transfer"]
        self.until(lambda: re.search(
            r"before a date\. It begins in (1:59:\d\d|2:00:00)\.$", self.text(self.card(number) + ".reason")), "no time")
        retry = self.browser.find_element(By.CSS_SELECTOR, self.card(number) + "[data-action=retry]")
        self.assertFalse(retry.is_displayed(), "a try changes nothing")

    def test_holds_transfers_to_the_limit(self):
        self.open()
        self.world.files.gate.set()
        first = self.world.download("/file.bin")
        self.until(lambda: self.text("#over " + self.card(first) + ".state") == "saved", "its end is not shown")
        self.browser.find_element(By.ID, "limit-value").send_keys("512")
        self.click("#limit [type=submit]")
        self.until(lambda: self.text("#limits") == "Now: 512 KiB/s.", "the limit is not shown")
        began = time.monotonic()
        second = self.world.download("/second.bin")
        self.until(lambda: re.search(r"KiB/s, \d", self.text(self.card(second) + ".left")), "no rate is shown")
        self.assertNotIn("MiB", self.text("#rate"))
        self.until(lambda: self.text("#over " + self.card(second) + ".state") == "saved", "its end is not shown")
        # 4 MiB at 512 KiB/s, of which a quarter of a second and a piece may come at once.
        self.assertGreater(time.monotonic() - began, 4)
        self.expect_no_problem()

    def test_is_used_with_the_keyboard(self):
        self.open()
        number = self.world.download("/file.bin")
        self.until(lambda: self.text(self.card(number) + ".state") == "running", "it does not run")

        def focus():
            return self.browser.execute_script(
                "const one = document.activeElement; return one.id || one.dataset.action || one.dataset.step || one.tagName;")

        def keys(*keys):
            webdriver.ActionChains(self.browser).send_keys(*keys).perform()

        seen = []
        while not seen or seen[-1] != "SUMMARY":
            keys(Keys.TAB)
            seen.append(focus())
            self.assertLess(len(seen), 10, seen)
        self.assertEqual(seen, ["limit-value", "BUTTON", "pause", "limit", "ask", "SUMMARY"])
        keys(Keys.ENTER)
        self.until(lambda: self.browser.find_elements(By.CSS_SELECTOR, self.card(number) + "details[open] .tries li"),
                   "the requests do not open")
        webdriver.ActionChains(self.browser).key_down(Keys.SHIFT).send_keys(Keys.TAB, Keys.TAB).key_up(Keys.SHIFT).perform()
        self.assertEqual(focus(), "limit")
        keys(Keys.ENTER)
        self.assertEqual(focus(), "INPUT")
        keys("256", Keys.ENTER)
        self.until(lambda: "256" in self.text(self.card(number) + ".limits"), "the limit is not set")
        self.until(lambda: focus() == "limit", "the focus is lost with the form")
        keys(Keys.ENTER)
        keys(Keys.ESCAPE)
        self.assertEqual(focus(), "limit")
        webdriver.ActionChains(self.browser).key_down(Keys.SHIFT).send_keys(Keys.TAB).key_up(Keys.SHIFT).perform()
        self.assertEqual(focus(), "pause")
        keys(Keys.SPACE)
        self.until(lambda: self.text(self.card(number) + ".state") == "paused", "it is not paused")
        self.assertEqual(focus(), "resume", "the focus is lost with its button")
        keys(Keys.SPACE)
        self.until(lambda: self.text(self.card(number) + ".state") == "running", "it does not go on")
        keys(Keys.TAB, Keys.TAB, Keys.ENTER)
        self.assertEqual(focus(), "keep")
        keys(Keys.ESCAPE)
        self.assertEqual(focus(), "ask")
        keys(Keys.ENTER)
        webdriver.ActionChains(self.browser).key_down(Keys.SHIFT).send_keys(Keys.TAB).key_up(Keys.SHIFT).perform()
        self.assertEqual(focus(), "cancel")
        keys(Keys.ENTER)
        self.until(lambda: self.text("#over " + self.card(number) + ".state") == "cancelled", "it is not cancelled")
        self.assertEqual(focus(), "SUMMARY", "the focus is lost with its card's place")
        self.assertEqual(self.browser.execute_script(
            "return getComputedStyle(document.activeElement).outlineStyle"), "solid", "the focus is not seen")

    def test_tells_no_other_port_its_cookie(self):
        self.open()
        asked = []

        class Other(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append((self.path, self.headers["Cookie"], self.headers["Referer"]))
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(b"<title>other</title>")

            def log_message(self, *arguments):
                pass

        other = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Other)
        self.addCleanup(other.server_close)
        self.addCleanup(other.shutdown)
        threading.Thread(target=other.serve_forever, daemon=True).start()
        for path in ["/", "/transfers"]:
            # From the page itself, as a link in it would.
            self.browser.execute_script(
                "location.href = arguments[0]", "http://127.0.0.1:%d%s" % (other.server_port, path))
            self.until(lambda: self.browser.title == "other", "the other page does not open")
            self.browser.back()
            self.until(lambda: "Connecting" not in self.text("#summary") and self.text("h1") == "Transfers", "not back")
        self.assertEqual([path for path, _, _ in asked if path != "/favicon.ico"], ["/", "/transfers"])
        self.assertEqual({cookie for _, cookie, _ in asked}, {None})
        # The other page's own icon is asked for with that page's own path.
        referrers = [referrer for path, _, referrer in asked if path != "/favicon.ico"]
        self.assertNotIn(True, [bool(referrer and "/" in referrer[7:].rstrip("/")) for referrer in referrers])

    def test_says_that_transfers_stand_still_without_a_service(self):
        self.open()
        number = self.world.download("/file.bin")
        self.until(lambda: self.text(self.card(number) + ".state") == "running", "it does not run")
        self.world.kill_service()
        self.until(lambda: self.text(self.card(number) + ".state") == "stopped", "it still runs, the page says")
        self.assertIn("does not run", self.text("#summary"))
        self.assertFalse(self.browser.find_element(By.CSS_SELECTOR, self.card(number) + "[data-action=pause]").is_displayed())

    def overflow(self, width):
        self.browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 700, "deviceScaleFactor": 1, "mobile": False})
        wide = self.browser.execute_script("return document.documentElement.scrollWidth - innerWidth")
        self.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        return max(0, wide)

    def test_names_from_servers_stay_text(self):
        self.open()
        number = self.world.download("/%3Cimg%20src=x%20onerror=alert(1)%3E.bin")
        self.until(lambda: "<img" in self.text(self.card(number) + "h3"), "the name is not shown")
        self.assertFalse(self.browser.find_elements(By.CSS_SELECTOR, "img"))

    def test_every_control_has_a_name(self):
        self.open()
        self.world.download("/file.bin")
        self.until(lambda: self.browser.find_elements(By.CSS_SELECTOR, ".transfer"), "no transfer is shown")
        for selector in ["button", "progress", "svg[role=img]", "input"]:
            for node in self.browser.find_elements(By.CSS_SELECTOR, "main " + selector):
                if node.is_displayed():
                    self.assertTrue(node.accessible_name, node.get_attribute("outerHTML"))

    def test_says_that_the_server_has_ended(self):
        self.open()
        self.world.page.send_signal(signal.SIGTERM)
        self.until(lambda: "does not answer" in self.text("#summary"), "the end is not noticed")


if __name__ == "__main__":
    if "--pictures" in sys.argv:
        index = sys.argv.index("--pictures")
        PICTURES = sys.argv[index + 1]
        del sys.argv[index : index + 2]
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
