// Explains vLLM's refusal to load an adapter, with the reason and the cure. vLLM's own error messages contain paths on
// its machine.
import { ServiceError, type ErrorCode } from "../../../base/domain/service-error.ts";
import { VllmRefusal } from "../client/vllm-errors.ts";

/**
 * Returns the error for a failed load.
 *
 * @returns the unchanged error if vLLM could not be reached, or if its refusal is not a known one
 */
export function explainLoadFailure(error: unknown): unknown {
  const refusal = error instanceof ServiceError ? error.cause : null;
  if (!(refusal instanceof VllmRefusal)) return error;
  const known = causes.find(
    ({ answered, text }) => refusal.status === answered && text.test(refusal.message),
  );
  if (known === undefined) return error;
  return new ServiceError({ code: known.code, message: known.message, cause: error });
}

const causes: readonly {
  readonly answered: number;
  readonly text: RegExp;
  readonly code: ErrorCode;
  readonly message: string;
}[] = [
  {
    answered: 404,
    text: /: Not Found$/,
    code: "unavailable",
    message:
      "The vLLM server of this model loads no adapters while it runs; start it with --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=True.",
  },
  {
    answered: 404,
    text: /No adapter found/,
    code: "unavailable",
    message:
      "The vLLM server of this model does not see the adapter's folder; share HONE_BLOBS with it, or set HONE_REMOTE_ADAPTER_FOLDER to a folder that it sees.",
  },
  {
    answered: 500,
    text: /greater than max_lora_rank/,
    code: "unsupported",
    message:
      "The adapter has a greater rank than the vLLM server of this model takes; start it with a greater --max-lora-rank.",
  },
];
