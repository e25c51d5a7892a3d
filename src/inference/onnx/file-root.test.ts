import assert from "node:assert/strict";
import { posix, win32 } from "node:path";
import { test } from "node:test";
import { ServiceError } from "../../base/domain/service-error.ts";
import { rootOfFiles } from "./file-root.ts";

test("finds files below the root of their file system", () => {
  const root = rootOfFiles(["/models/a.safetensors", "/data/../cache/b"], posix);
  assert.deepEqual(
    [root.folder, root.pathOf("/models/a.safetensors"), root.pathOf("/data/../cache/b")],
    ["/", "models/a.safetensors", "cache/b"],
  );
});

test("on Windows finds files below their drive, with slashes", () => {
  const files = ["C:\\Users\\me\\model.gguf", "c:/data/.hone/cache/x.arranged"];
  const root = rootOfFiles(files, win32);
  assert.deepEqual(
    [root.folder, ...files.map(root.pathOf)],
    ["C:\\", "Users/me/model.gguf", "data/.hone/cache/x.arranged"],
  );
  const share = rootOfFiles(["\\\\nas\\models\\tiny\\w"], win32);
  assert.deepEqual([share.folder, share.pathOf("\\\\nas\\models\\tiny\\w")], ["\\\\nas\\models\\", "tiny/w"]);
});

test("refuses files of two drives, and says what to do", () => {
  assert.throws(
    () => rootOfFiles(["C:\\model", "D:\\data\\cache"], win32),
    (error) =>
      error instanceof ServiceError &&
      error.code === "unsupported" &&
      /C:\\ and D:\\.*--data/.test(error.message),
  );
});
