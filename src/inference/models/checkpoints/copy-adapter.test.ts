// Tests that a copy is recorded before it is made, so that an interrupted copy can be found.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ArtifactStore } from "../../../store/artifacts/artifact-store.ts";
import type { ModelVersion } from "../../../base/domain/model.ts";
import { copyAdapter } from "./copy-adapter.ts";

test("copies nothing if the copy cannot be recorded, as on a full disk", async () => {
  const asked: string[] = [];
  const full = Object.assign(new Error("no space left"), { code: "ENOSPC" });
  const artifacts = new Proxy({} as ArtifactStore, {
    get: (_, name) => async () => {
      asked.push(String(name));
      if (name === "hold") throw full;
    },
  });
  const source = { adapterFolder: "adapters/m/1", adapterHash: null, trainerState: null };
  const version = source as ModelVersion & { readonly adapterFolder: string };
  await assert.rejects(copyAdapter({ artifacts, hashOf: async () => "" }, version, "n"), full);
  assert.deepEqual(asked, ["hold"]);
});
