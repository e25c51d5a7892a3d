// The contract of engines, asked of vLLM itself: `run.py` starts it and says where.
import { checkEngine } from "../../../dist/src/inference/engine/contract/check-engine.js";
import { remoteEngine } from "../../../dist/src/inference/vllm/testing/stubbed-engine.js";
import { isUnsupportedCombination } from "../../../dist/src/inference/vllm/client/refuse-unsupported.js";

const { VLLM_URL: url, VLLM_KEY: apiKey } = process.env;

/** Waits that a busy processor needs. */
const settings = { apiKey, scheduling: "priority", startSeconds: 60, adaptersMax: 16 };
const engineOf = (waitingCountMax, vocabularySize) =>
  remoteEngine({ urls: [url], vocabularySize, waitingCountMax, settings });

/** Formats that nobody knows: the embedded engine takes them for notes, and vLLM refuses their schemas. */
const hasUnknownFormat = ({ constraint }) =>
  constraint?.kind === "json-schema" && constraint.schema.includes('"format":"color"');

checkEngine({
  name: "vLLM",
  make: ({ waitingCountMax }) => engineOf(waitingCountMax, 512),
  // A model of another vocabulary than its files say is another model.
  failing: { code: "conflict", make: () => engineOf(1, 511) },
  refuses: (request) => isUnsupportedCombination(request) || hasUnknownFormat(request),
});
