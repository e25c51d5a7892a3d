// A logits processor that lets no sequence of a given size come twice, as `no_repeat_ngram_size` does in Hugging Face
// transformers (`NoRepeatNGramLogitsProcessor`), which counts the prompt's sequences too; here that is asked for.
import type { ProcessorCall, TokenProcessor } from "./processor.ts";
import { numberOf } from "./read-argument.ts";

/**
 * Arguments: `size` (at least 1), or the first of `args`; `prompt` true counts what the prompt holds.
 *
 * A token is forbidden where it, behind the last size - 1 tokens, would end a sequence that is there already.
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
