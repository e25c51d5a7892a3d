import assert from "node:assert/strict";
import { test } from "node:test";
import { connectionsThatFit, limitOfLinux, limitOfReport, openFilesMax } from "./open-files.ts";

test("reserves descriptors, or half of them if there are few", () => {
  assert.equal(connectionsThatFit(4096, Number.POSITIVE_INFINITY), 4096);
  assert.equal(connectionsThatFit(4096, 4096), 3968);
  assert.equal(connectionsThatFit(4096, 300), 172);
  assert.equal(connectionsThatFit(4096, 101), 50);
  assert.equal(connectionsThatFit(10, 300), 10);
});

test("reads the operating system's limit", () => {
  assert.ok(openFilesMax() > 0);
});

test("reads the same limit from Linux and from Node's report", { skip: process.platform !== "linux" }, () => {
  assert.equal(limitOfLinux(), limitOfReport());
});
