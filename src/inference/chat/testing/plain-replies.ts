// For tests: a base model whose answers are only text.
import { thinkMarks } from "../reply/read-thought.ts";
import type { ReplyAbilities } from "../reply-abilities.ts";

/** Reply abilities of a model without thoughts and tool calls. */
export const plainReplies: ReplyAbilities = {
  callFormat: null,
  thinks: false,
  thoughtMarks: thinkMarks,
  markIds: new Set(),
  reasons: { calls: "", thoughts: "" },
};
