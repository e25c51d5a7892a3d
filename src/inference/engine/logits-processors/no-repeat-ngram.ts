// A logits processor that prevents repeated n-grams, like `no_repeat_ngram_size` in Hugging Face transformers
// (`NoRepeatNGramLogitsProcessor`). Transformers also counts the prompt's n-grams; here that is optional.
import type { ProcessorCall, TokenProcessor } from "./processor.ts";
import { numberOf } from "./read-argument.ts";

/**
 * Arguments: `size` (at least 1), or the first of `args`; `prompt` true also counts the prompt's n-grams.
 *
 * A token is forbidden if it and the last size - 1 tokens form an n-gram that already occurred.
 */
export function createProcessor({ args, kwargs }: ProcessorCall): TokenProcessor {
  const size = numberOf("size", kwargs["size"] ?? args[0], 1);
  const withPrompt = kwargs["prompt"] ?? false;
  if (typeof withPrompt !== "boolean") throw new Error("prompt must be true or false");
  return ({ promptTokenIds, answerTokenIds, logits }) => {
    const ids = withPrompt ? [...promptTokenIds, ...answerTokenIds] : answerTokenIds;
    const last = ids.length - size + 1;
    for (let start = 0; start < last; start++) {
      let length = 0;
      while (length < size - 1 && ids[start + length] === ids[last + length]) length += 1;
      if (length === size - 1) logits[ids[start + length]] = -Infinity;
    }
  };
}
