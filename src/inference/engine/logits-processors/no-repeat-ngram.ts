// A logits processor that prevents repeated n-grams, like `no_repeat_ngram_size` in Hugging Face transformers
// (`NoRepeatNGramLogitsProcessor`). Transformers always counts the prompt's n-grams too; here the argument `prompt`
// decides that.
import type { ProcessorCall, TokenProcessor } from "./processor.ts";
import { numberOf } from "./read-argument.ts";

/**
 * Creates the processor, which forbids a token if it would complete an n-gram that already occurred. Its arguments:
 * * `size`: number of tokens in the n-grams, at least 1; may instead be the first of `args`.
 * * `prompt`: if true, n-grams of the prompt count too.
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
