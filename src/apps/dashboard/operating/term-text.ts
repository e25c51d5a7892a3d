// Describes a term of a reward rule briefly, such as `thumbs: 👍 is 1, 👎 is 0`.
import type { RewardTerm } from "../../client/api.ts";

/** Descriptions of the feedback that a term of each kind reads. */
const subjects: { readonly [Kind in RewardTerm["kind"]]: (term: RewardTerm) => string } = {
  reaction: () => "reactions",
  annotation: ({ name }) => `answers to “${name}”`,
  number: ({ path, feedback_type: type }) => `the number ${path} of ${type}`,
  preference: ({ feedback_type: type }) =>
    type === undefined || type === null ? "comparisons of answers" : `comparisons of the type ${type}`,
};

export function termText(term: RewardTerm): string {
  const { kind, rewards, range, weight } = term;
  const values = Object.entries(rewards ?? {}).map(([value, reward]) => `${value} is ${reward}`);
  const [least, greatest] = range ?? [];
  if (least !== undefined && greatest !== undefined) values.push(`${least} is 0`, `${greatest} is 1`);
  const text = `${subjects[kind](term)}${values.length === 0 ? "" : `: ${values.join(", ")}`}`;
  return weight === undefined || weight === null || weight === 1 ? text : `${text} (weight ${weight})`;
}
