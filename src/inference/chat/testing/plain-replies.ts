// For tests: a base model whose answers are only text.
import type { ReplyAbilities } from "../reply-abilities.ts";

/** Reply abilities of such a model. */
export const plainReplies: ReplyAbilities = {
  callFormat: null,
  thinks: false,
  markIds: new Set(),
  reasons: { calls: "", thoughts: "" },
};
