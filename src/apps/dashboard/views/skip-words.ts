// Why something of a job's data does not train, in a sentence for each reason that a job counts.

const words: Readonly<Record<string, string>> = {
  zero_variance: "all rewards of the group are equal",
  at_group_mean: "the reward is the mean of its group",
  too_long: "a sequence is longer than what trains",
  choice_without_tokens: "a Choice recorded no tokens",
  history_without_choice: "a history has no Choice, where others have",
  message_without_text: "an answer calls tools or holds no text",
  unreadable_tokens: "a token is not in the model's vocabulary",
  unrenderable: "the chat template refuses a history",
  no_trainable_tokens: "nothing in it was said by the model",
  equal_answers: "both answers have the same tokens",
};

/** A reason that this page does not know is shown by its name. */
export function skipWords(reason: string): string {
  return words[reason] ?? reason.replaceAll("_", " ");
}
