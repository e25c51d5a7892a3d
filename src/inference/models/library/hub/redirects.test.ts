import assert from "node:assert/strict";
import { test } from "node:test";
import { redirectTarget } from "./redirects.ts";

const hub = "https://hub.example";
const from = new URL(`${hub}/owner/name/resolve/main/config.json`);

test("follows redirects to other servers and within the hub", () => {
  for (const [location, target] of [
    ["https://cdn.example/blob?signed=yes", "https://cdn.example/blob?signed=yes"],
    ["/elsewhere", `${hub}/elsewhere`],
    ["//cdn.example/x", "https://cdn.example/x"],
    ["https://10.0.0.7/x", "https://10.0.0.7/x"],
  ] as const)
    assert.equal(redirectTarget(from, location, hub).href, target);
  const own = new URL("http://127.0.0.1:9/x");
  assert.equal(redirectTarget(own, "http://localhost:8/y", "http://127.0.0.1:9").port, "8");
});

test("refuses redirects to this machine, to clouds' credential servers, or out of TLS", () => {
  for (const location of [
    "https://127.0.0.1/x",
    "https://127.1/x",
    "https://2130706433/x",
    "https://0/x",
    "https://localhost./x",
    "https://a.localhost/x",
    "https://[::1]/x",
    "https://[::]/x",
    "https://[::ffff:127.0.0.1]/x",
    "https://[::ffff:169.254.169.254]/x",
    "https://169.254.169.254/latest/meta-data",
    "https://[fe80::1]/x",
    "http://cdn.example/x",
    "file:///etc/passwd",
    "data:text/plain,x",
    "https://",
  ])
    assert.throws(() => redirectTarget(from, location, hub), { code: "unavailable" }, location);
});
