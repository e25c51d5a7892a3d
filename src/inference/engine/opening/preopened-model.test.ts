// Tests a model that is opened in advance: when an engine takes it, and that opening writes nothing.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { silentLogger } from "../../../base/telemetry/testing/silent-logger.ts";
import { modelFolder } from "../contract/engine-under-test.ts";
import { PreopenedModel } from "./preopened-model.ts";
import type { ModelOpening } from "./model-opening.ts";

test("takes the model opened ahead only once, and only if it is the one to load", async (t) => {
  const cacheFolder = join(mkdtempSync(join(tmpdir(), "hone-ahead-")), "cache");
  t.after(() => rmSync(dirname(cacheFolder), { recursive: true }));
  const opening: ModelOpening = {
    modelFolder,
    cacheFolder,
    quantization: "off",
    contextLengthMax: 32,
    threads: 1,
    adapterCountMax: 1,
    device: "cpu",
    draftTokensMax: 0,
    preparesAhead: true,
  };
  const contextOf = async (ahead: PreopenedModel | null, wanted: ModelOpening): Promise<number> => {
    const { runner } = await PreopenedModel.open(ahead, wanted, silentLogger);
    await runner.close();
    return runner.shape.contextLength;
  };
  const early = new PreopenedModel(opening);
  assert.equal(await early.isOpen(), false, "its hashes are not kept yet");
  assert.equal(existsSync(cacheFolder), false);
  assert.equal(await contextOf(early, opening), 32);

  const ahead = new PreopenedModel(opening);
  assert.equal(await ahead.isOpen(), true);
  assert.equal(await contextOf(ahead, opening), 32);
  assert.equal(await ahead.isOpen(), false, "it was taken");
  assert.equal(await contextOf(ahead, opening), 32);

  assert.equal(await contextOf(new PreopenedModel(opening), { ...opening, contextLengthMax: 16 }), 16);
});
