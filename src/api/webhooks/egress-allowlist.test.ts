import assert from "node:assert/strict";
import { test } from "node:test";
import { readEgressAllowlist } from "./egress-allowlist.ts";

/**
 * True if a request to the host may connect to the address. Like a real request, checks the host first, then the
 * address.
 */
function check(entries: readonly string[], host: string, address: string): boolean {
  const allowlist = readEgressAllowlist(entries);
  return allowlist.mayResolve(host) && allowlist.mayConnect(host, address);
}

test("allows nothing by default", () => {
  assert.equal(readEgressAllowlist([]).isEmpty, true);
  assert.equal(check([], "hooks.example.com", "203.0.113.7"), false);
  assert.equal(check(["other.example.com"], "hooks.example.com", "203.0.113.7"), false);
  assert.equal(check(["hooks.example.com"], "203.0.113.7", "203.0.113.7"), false);
  assert.equal(check(["10.0.0.0/8"], "203.0.113.7", "203.0.113.7"), false);
});

test("allows a listed name's addresses, except loopback, link-local, multicast and cloud metadata ones", () => {
  const names = ["hooks.example.com", "*.trusted.example"];
  for (const host of ["hooks.example.com", "HOOKS.example.com.", "a.b.trusted.example"]) {
    for (const address of ["203.0.113.7", "10.1.2.3", "2001:db8::1", "fd00::1", "::ffff:203.0.113.7"])
      assert.equal(check(names, host, address), true, `${host} ${address}`);
    for (const address of [
      "127.0.0.1",
      "127.9.9.9",
      "0.0.0.0",
      "169.254.169.254",
      "224.0.0.1",
      "255.255.255.255",
      "::",
      "::1",
      "fe80::1",
      "fe80::1%eth0",
      "ff02::1",
      "::ffff:127.0.0.1",
      "::ffff:169.254.169.254",
      "::ffff:7f00:1",
      "::ffff:a9fe:a9fe",
      "0:0:0:0:0:ffff:7f00:1",
      "::127.0.0.1",
      "::a9fe:a9fe",
      "::ffff:0:127.0.0.1",
      "64:ff9b::169.254.169.254",
      "64:ff9b::a9fe:a9fe",
      "64:ff9b:1::7f00:1",
      "2002:7f00:1::",
      "2001:0:a9fe:a9fe::1",
      "fec0::1",
      "fd00:ec2::254",
      "fd20:ce::254",
      "100.100.100.200",
      "::ffff:100.100.100.200",
      "168.63.129.16",
      "192.0.0.192",
    ])
      assert.equal(check(names, host, address), false, `${host} ${address}`);
  }
  for (const host of ["trusted.example", "nottrusted.example", "hooks.example.com.evil.example"])
    assert.equal(check(names, host, "203.0.113.7"), false, host);
});

test("allows a network's addresses, as literals and for listed names, but not for other names", () => {
  const networks = ["10.0.0.0/8", "192.0.2.1", "2001:db8::/32", "64:ff9b::/96", "::1"];
  const withName = [...networks, "any.example"];
  for (const address of [
    "10.255.0.1",
    "192.0.2.1",
    "2001:db8:1::1",
    "64:ff9b::8.8.8.8",
    "::1",
    "::ffff:10.0.0.1",
    "::ffff:a00:1",
  ]) {
    assert.equal(check(withName, "any.example", address), true, address);
    assert.equal(check(networks, "any.example", address), false, address);
    assert.equal(check(networks, address.includes(":") ? `[${address}]` : address, address), true, address);
  }
  for (const address of ["11.0.0.1", "192.0.2.2", "2001:db9::1", "127.0.0.1"])
    assert.equal(check(networks, address.includes(":") ? `[${address}]` : address, address), false, address);
  assert.equal(check(["hooks.example.com", "127.0.0.1"], "hooks.example.com", "127.0.0.1"), true);
  assert.equal(check(["localhost"], "localhost", "127.0.0.1"), true);
  assert.equal(check(["localhost"], "localhost", "::1"), true);
  assert.equal(check(["127.0.0.0/8"], "localhost", "127.0.0.1"), true);
  assert.equal(check(["127.0.0.0/8"], "localhost", "::1"), false);
  assert.equal(check(["10.0.0.0/8"], "localhost", "127.0.0.1"), false);
});

test("refuses entries that are neither names nor networks", () => {
  for (const entry of [
    "https://a.example",
    "a.example:443",
    "10.0.0.0/33",
    "10.0.0",
    "*",
    "a b",
    "",
    "::1/129",
    "10.0.0.0/8/8",
  ])
    assert.throws(
      () => readEgressAllowlist([entry]),
      { code: "invalid", message: /webhooks\.allowed/ },
      entry,
    );
});
