// For tests: creates the input of a draw from a short form of a request.
import type { GenerationRequest } from "../../../base/domain/generation.ts";
import { seededRandom } from "../../../base/domain/random.ts";
import { drawRulesOf, type DrawInput, PromptTokens, TokenHistory } from "../logits/draw-input.ts";

/**
 * Creates the input for drawing the next token of a request's first choice, after the answer so far. Uses the request's
 * own random stream unless another is given.
 */
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
