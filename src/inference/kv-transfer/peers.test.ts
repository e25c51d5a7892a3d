import assert from "node:assert/strict";
import { test } from "node:test";
import { findPeer, readAddress, readPeers } from "./peers.ts";

test("uses a request's address only to choose among the peers", () => {
  const peers = readPeers(["http://10.0.0.1:8000", "https://Prefill.example", "http://[::1]:9"]);
  const origins = (host: string, port: number): string | undefined => findPeer(peers, { host, port })?.origin;
  assert.equal(origins("10.0.0.1", 8000), "http://10.0.0.1:8000");
  assert.equal(origins("PREFILL.example", 443), "https://prefill.example");
  assert.equal(origins("::1", 9), "http://[::1]:9");
  assert.equal(origins("[::1]", 9), "http://[::1]:9");
  for (const [host, port] of [
    ["10.0.0.1", 8001],
    ["10.0.0.1@evil.example", 8000],
    ["10.0.0.1:8000/", 8000],
    ["evil.example", 443],
    ["", 80],
  ] as const)
    assert.equal(origins(host, port), undefined, host);
});

test("refuses a peer that is no origin, and an address that is no host with a port", () => {
  for (const text of ["10.0.0.1:8000", "ftp://a:1", "http://a:1/path", "http://u:p@a:1", "http://a:1?q", ""])
    assert.throws(() => readPeers([text]), /transfer\.peers/, text);
  for (const text of ["http://a:1", "a", "a:b", "a:1/x", ":8000", ""])
    assert.throws(() => readAddress(text), /transfer\.address/, text);
  assert.deepEqual(readAddress("10.0.0.1:80"), { host: "10.0.0.1", port: 80 });
  assert.deepEqual(readAddress("[::1]:8000"), { host: "::1", port: 8000 });
});
