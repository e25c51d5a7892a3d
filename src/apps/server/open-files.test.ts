import assert from "node:assert/strict";
import { test } from "node:test";
import { connectionsThatFit, limitOfLinux, limitOfReport, openFilesMax } from "./open-files.ts";

test("reserves file descriptors for other uses, at most half of those allowed", () => {
  assert.equal(connectionsThatFit(4096, Number.POSITIVE_INFINITY), 4096);
  assert.equal(connectionsThatFit(4096, 4096), 3968);
  assert.equal(connectionsThatFit(4096, 300), 172);
  assert.equal(connectionsThatFit(4096, 101), 50);
  assert.equal(connectionsThatFit(10, 300), 10);
});

test("reads the operating system's open-file limit", () => {
  assert.ok(openFilesMax() > 0);
});

test(
  "reads the same limit from Linux and from Node.js's report",
  { skip: process.platform !== "linux" },
  () => {
    assert.equal(limitOfLinux(), limitOfReport());
  },
);
