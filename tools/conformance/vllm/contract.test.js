// Runs the engine contract tests against a real vLLM server, which `run.py` starts; it passes the server's address.
import { checkEngine } from "../../../dist/src/inference/engine/contract/check-engine.js";
import { remoteEngine } from "../../../dist/src/inference/vllm/testing/stubbed-engine.js";
import { isUnsupportedCombination } from "../../../dist/src/inference/vllm/client/refuse-unsupported.js";

const { VLLM_URL: url, VLLM_KEY: apiKey } = process.env;

/** vLLM needs a long start timeout on a busy processor. */
const settings = { apiKey, scheduling: "priority", startSeconds: 60, adaptersMax: 16 };
const engineOf = (waitingCountMax, vocabularySize) =>
  remoteEngine({ urls: [url], vocabularySize, waitingCountMax, settings });

/**
 * True for a schema with a format that constraints do not support. The embedded engine ignores such a format as an
 * annotation, while vLLM refuses the schema.
 */
const hasUnknownFormat = ({ constraint }) =>
  constraint?.kind === "json-schema" && constraint.schema.includes('"format":"color"');

checkEngine({
  name: "vLLM",
  make: ({ waitingCountMax }) => engineOf(waitingCountMax, 512),
  // A different vocabulary size than in the model's files indicates a different model.
  failing: { code: "conflict", make: () => engineOf(1, 511) },
  refuses: (request) => isUnsupportedCombination(request) || hasUnknownFormat(request),
});
