// Describes a term of a reward rule briefly, such as `👍 1, 👎 0`.
import type { RewardTerm } from "../../client/api.ts";

export function termText({ kind, rewards, feedback_type: type, path, name, weight }: RewardTerm): string {
  const subject = name ?? path ?? type ?? kind;
  const values = Object.entries(rewards ?? {}).map(([value, reward]) => `${value} ${reward}`);
  const text = kind === "reaction" ? values.join(", ") : [subject, ...values].join(" ");
  return weight === undefined || weight === null || weight === 1 ? text : `${text} (weight ${weight})`;
}
