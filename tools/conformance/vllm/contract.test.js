// The contract of engines, run against vLLM itself: `run.py` starts it and passes its address.
import { checkEngine } from "../../../dist/src/inference/engine/contract/check-engine.js";
import { remoteEngine } from "../../../dist/src/inference/vllm/testing/stubbed-engine.js";
import { isUnsupportedCombination } from "../../../dist/src/inference/vllm/client/refuse-unsupported.js";

const { VLLM_URL: url, VLLM_KEY: apiKey } = process.env;

/** Timeouts that a busy processor needs. */
const settings = { apiKey, scheduling: "priority", startSeconds: 60, adaptersMax: 16 };
const engineOf = (waitingCountMax, vocabularySize) =>
  remoteEngine({ urls: [url], vocabularySize, waitingCountMax, settings });

/**
 * Formats that the constraints do not know: the embedded engine ignores them as annotations, and vLLM refuses their
 * schemas.
 */
const hasUnknownFormat = ({ constraint }) =>
  constraint?.kind === "json-schema" && constraint.schema.includes('"format":"color"');

checkEngine({
  name: "vLLM",
  make: ({ waitingCountMax }) => engineOf(waitingCountMax, 512),
  // A model whose vocabulary differs from its files is another model.
  failing: { code: "conflict", make: () => engineOf(1, 511) },
  refuses: (request) => isUnsupportedCombination(request) || hasUnknownFormat(request),
});
