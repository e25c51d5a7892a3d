import assert from "node:assert/strict";
import { test } from "node:test";
import { connectionsThatFit, limitOfLinux, limitOfReport, openFilesMax } from "./open-files.ts";

test("connections leave a reserve of descriptors, and half of few", () => {
  assert.equal(connectionsThatFit(4096, Number.POSITIVE_INFINITY), 4096);
  assert.equal(connectionsThatFit(4096, 4096), 3968);
  assert.equal(connectionsThatFit(4096, 300), 172);
  assert.equal(connectionsThatFit(4096, 101), 50);
  assert.equal(connectionsThatFit(10, 300), 10);
});

test("the operating system's limit is read", () => {
  assert.ok(openFilesMax() > 0);
});

test("the limit that Linux tells is the one in Node's report", { skip: process.platform !== "linux" }, () => {
  assert.equal(limitOfLinux(), limitOfReport());
});
