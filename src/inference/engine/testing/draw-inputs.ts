// For tests: what a draw goes by, from a request in its shortest form.
import type { GenerationRequest } from "../../../base/domain/generation.ts";
import { seededRandom } from "../../../base/domain/random.ts";
import { drawRulesOf, type DrawInput, PromptTokens, TokenHistory } from "../logits/draw-input.ts";

/** The first choice of a request after an answer so far; it draws from the request's own stream unless told otherwise. */
export function drawInputOf(
  request: GenerationRequest,
  more: Partial<DrawInput> & { readonly answer?: readonly number[] } = {},
): DrawInput {
  const { answer = [], ...rest } = more;
  return {
    rules: drawRulesOf(request),
    random: seededRandom(request.sampling.seed, 0),
    history: new TokenHistory(new PromptTokens(request.prompt.tokenIds), answer),
    processors: [],
    mask: null,
    ...rest,
  };
}
