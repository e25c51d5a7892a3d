// For tests: what a base model reads out of its answers where that is nothing.
import type { ReplyAbilities } from "../reply-abilities.ts";

/** Answers that are text and nothing else. */
export const plainReplies: ReplyAbilities = {
  callFormat: null,
  thinks: false,
  markIds: new Set(),
  reasons: { calls: "", thoughts: "" },
};
