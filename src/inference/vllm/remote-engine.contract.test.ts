// Runs the contract tests of engines on the remote engine, over a stub that answers as vLLM does.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { checkEngine } from "../engine/contract/check-engine.ts";
import { endTokenId, modelFolder, vocabulary } from "../engine/contract/engine-under-test.ts";
import { LocalEngine } from "../engine/testing/local-engine.ts";
import { openModelFolder } from "../engine/opening/open-model-folder.ts";
import { openingOf } from "../engine/opening/model-opening.ts";
import { engineSettings } from "../engine/settings.ts";
import { constraintSettings } from "../engine/token-masks/settings.ts";
import { silentLogger } from "../../base/telemetry/testing/silent-logger.ts";
import { isUnsupportedCombination } from "./client/refuse-unsupported.ts";
import { StubVllm } from "./testing/stub-vllm.ts";
import { remoteEngine, StubbedEngine } from "./testing/stubbed-engine.ts";

const cacheFolder = mkdtempSync(join(tmpdir(), "hone-remote-"));
after(() => rmSync(cacheFolder, { recursive: true }));

function embedded(): LocalEngine {
  const settings = engineSettings.with({
    threads: 1,
    kvCacheBytesMax: 2 ** 22,
    slotCountMax: 12,
    tokensPerStepMax: 64,
    waitingCountMax: 1000,
    scheduling: "priority",
  });
  return new LocalEngine({
    openModel: () =>
      openModelFolder(openingOf({ modelFolder, cacheFolder, quantization: "off", settings }), silentLogger),
    vocabulary,
    settings,
    constraints: constraintSettings.with(),
    logger: silentLogger,
  });
}

const vocabularySize = 512;

const stubbed = (waitingCountMax: number, version?: string): StubbedEngine => {
  const stub = new StubVllm({
    behind: embedded(),
    contextLength: 256,
    vocabularySize,
    endTokenId,
    logprobCountMax: vocabularySize,
    ...(version !== undefined && { version }),
  });
  return new StubbedEngine((urls) => remoteEngine({ urls, vocabularySize, waitingCountMax }), [stub]);
};

checkEngine(
  {
    name: "engine on vLLM",
    make: ({ waitingCountMax }) => stubbed(waitingCountMax),
    failing: { code: "unsupported", make: () => stubbed(1, "0.31.2") },
    refuses: isUnsupportedCombination,
  },
  9,
);
