// For tests: a base model whose answers are only text.
import type { ReplyAbilities } from "../reply-abilities.ts";

/** Answers that are only text. */
export const plainReplies: ReplyAbilities = {
  callFormat: null,
  thinks: false,
  markIds: new Set(),
  reasons: { calls: "", thoughts: "" },
};
