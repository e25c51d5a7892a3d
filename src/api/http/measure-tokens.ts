// Measures the log-probabilities of tokens for code in this server. Such requests take the same path as the requests of
// clients.
import type { Caller } from "../../base/domain/access.ts";
import type { MeasureTokens } from "../../base/domain/learning/measure-tokens.ts";
import { loopTurns } from "../../base/domain/sharing/loop-turns.ts";
import { readCompletion } from "../wire/completions/read-completion.ts";
import type { HttpDependencies } from "./dependencies.ts";
import { bodyLimits } from "./settings.ts";

/** Returns a function that lets code in this server measure tokens in the name of `caller`. */
export function measureTokensAs(
  { chat, settings }: Pick<HttpDependencies, "chat" | "settings">,
  caller: Caller,
): MeasureTokens {
  return async (model, tokenIds, { signal }) => {
    const body = {
      model,
      prompt: [...tokenIds],
      max_tokens: 1,
      temperature: 0,
      prompt_logprobs: 0,
      store: false,
    };
    const { requests } = readCompletion(body, bodyLimits(settings));
    await loopTurns.next(caller.entity);
    const completion = await chat.begin(requests[0], caller, { signal, allowance: null });
    try {
      return (completion.header.promptLogprobs ?? []).map((token) => token?.logprob ?? null);
    } finally {
      await completion.leave();
    }
  };
}
