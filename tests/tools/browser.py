# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium for tests of pages, through chromedriver and its HTTP interface (W3C WebDriver). Debian: chromium, chromium-driver."""

import base64
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
MISSING = None if CHROMIUM and DRIVER else "headless Chromium is missing: install chromium and chromium-driver"
PATIENCE = 60  # seconds until something that a page does counts as never done


class Browser:
    def __init__(self, folder, width=1366, height=900, dark=False):
        """folder: for the profile of the browser, which is gone with it."""
        folder = tempfile.mkdtemp(prefix="browser-", dir=folder)
        self.log = open(os.path.join(folder, "chromedriver.log"), "w+")
        self.driver = subprocess.Popen([DRIVER, "--port=0"], stdout=self.log, stderr=subprocess.STDOUT)
        self.session = None
        try:
            self.root = "http://127.0.0.1:%d" % self.port()
            args = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--allow-file-access-from-files",
                    "--window-size=%d,%d" % (width, height), "--user-data-dir=" + os.path.join(folder, "profile"),
                    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",  # no test goes out
                    "--blink-settings=preferredColorScheme=%d" % (0 if dark else 1)]
            wanted = {"browserName": "chrome", "goog:chromeOptions": {"binary": CHROMIUM, "args": args}, "goog:loggingPrefs": {"browser": "ALL"}}
            self.session = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
            self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        except BaseException:
            self.close()
            raise

    def port(self):
        """The driver takes a free one and says which."""
        def said():
            with open(self.log.name) as file:
                found = re.search(r"successfully on port (\d+)", file.read())
            return found and int(found.group(1))
        return self.until(said, "chromedriver says its port")

    def ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.root + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=2 * PATIENCE) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError("the browser refused %s: %s" % (path, error.read().decode()[:2000])) from None

    def tell(self, path, body=None):
        return self.ask("POST", "/session/%s/%s" % (self.session, path), {} if body is None else body)

    def call(self, command, **params):
        """A command of the DevTools protocol."""
        return self.tell("goog/cdp/execute", {"cmd": command, "params": params})

    def open(self, address):
        self.tell("url", {"url": address if "://" in address else "file://" + os.path.abspath(address)})

    def run(self, script, *args):
        """The value of a function body in the page."""
        return self.tell("execute/sync", {"script": script, "args": list(args)})

    def wait(self, script, *args):
        """Until the function body returns something true; that value."""
        return self.until(lambda: self.run(script, *args), script)

    def until(self, ask, what):
        end = time.monotonic() + PATIENCE
        while True:
            value = ask()
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError("never happened: " + what)
            time.sleep(0.05)  # between two questions, not for something to be done by then

    def errors(self):
        """What the page complained about since the last call."""
        return [e["message"] for e in self.tell("se/log", {"type": "browser"}) if e["level"] == "SEVERE"]

    def picture(self, path):
        data = self.ask("GET", "/session/%s/screenshot" % self.session)
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def close(self):
        if self.session:
            self.ask("DELETE", "/session/" + self.session)
        self.driver.terminate()
        self.driver.wait()
        self.log.close()
