// Log-probabilities as the interface spells them.
import type { ChatLogprob } from "../../domain/chat.ts";

export interface LogprobEntry {
  readonly token: string;
  readonly logprob: number;
  readonly bytes: readonly number[];
}

export interface LogprobsBody {
  readonly content: readonly (LogprobEntry & { readonly top_logprobs: readonly LogprobEntry[] })[];
  readonly refusal: null;
}

/** JSON has no infinity; this stands for "never". */
const logprobMin = -9999;

/** @param asIds tokens read `token_id:<N>`, which no library loses on the way back into training */
export function logprobsBody(logprobs: readonly ChatLogprob[], asIds: boolean): LogprobsBody {
  return {
    content: logprobs.map((logprob) => ({
      ...entry(logprob, asIds),
      top_logprobs: logprob.alternatives.map((alternative) => entry(alternative, asIds)),
    })),
    refusal: null,
  };
}

function entry(logprob: Omit<ChatLogprob, "alternatives">, asIds: boolean): LogprobEntry {
  return {
    token: asIds ? `token_id:${logprob.tokenId}` : logprob.text,
    logprob: Math.max(logprob.logprob, logprobMin),
    bytes: logprob.bytes,
  };
}
