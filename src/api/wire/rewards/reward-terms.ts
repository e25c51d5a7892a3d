// The terms of a reward rule as requests spell them. Which fields a term has depends on its kind: one that has another's is
// refused, since whoever wrote it meant something that would not happen.
import { Type, type Static } from "typebox";
import { pathSteps, pathText } from "../../../base/domain/feedback-query/feedback-field.ts";
import {
  type RewardRule,
  type RewardScale,
  type RewardTable,
  type RewardTerm,
  scaleBetween,
  unitScale,
} from "../../../base/domain/rewards/reward-rule.ts";
import { isObject, report, type Findings } from "../../../base/validation/findings.ts";
import { nullable } from "../nullable.ts";

const kinds = ["reaction", "number", "annotation", "preference"] as const;
type Kind = (typeof kinds)[number];

/** More would be a mistake. */
const [termsMax, rewardMax, weightMax] = [20, 1e6, 1e6];

const reward = Type.Number({ minimum: -rewardMax, maximum: rewardMax });
const number = Type.Number({ minimum: -1e15, maximum: 1e15 });
const pair = Type.Array(number, { minItems: 2, maxItems: 2 });

const rewardTermSchema = Type.Object(
  {
    kind: Type.Enum([...kinds], {
      description:
        "What it reads: reactions, a number in the payload, the value of an annotation, or which of two answers is preferred.",
    }),
    weight: nullable(Type.Number({ exclusiveMinimum: 0, maximum: weightMax }), {
      default: 1,
      description:
        "An answer's reward is the mean of what terms give by their weights, of those that found something to read.",
    }),
    rewards: nullable(Type.Object({}, { additionalProperties: reward }), {
      description:
        "Of `reaction`, required: what each emoji earns, by itself or by its name between colons (`:thumbs_up:`). Of `annotation`: what each text earns.",
      examples: [{ "👍": 1, "👎": 0 }],
    }),
    feedback_type: nullable(Type.String({ minLength: 1, maxLength: 256 }), {
      description: "Of `number`, required, and of `preference`: which feedback.",
    }),
    path: nullable(Type.String({ minLength: 1, maxLength: 1024 }), {
      description: "Of `number`, required: where in the payload, as queries spell it: `scores.helpfulness`.",
    }),
    name: nullable(Type.String({ minLength: 1, maxLength: 256 }), {
      description:
        "Of `annotation`, required: `<name>` of feedback of the type `<maker>.annotation.<name>`, or `annotation.<name>`, as the questions of a queue itself have it.",
    }),
    range: nullable(pair, {
      description:
        "Of `number` and `annotation`: which numbers become 0 and 1; the others are between, or the nearest.",
      examples: [[1, 5]],
    }),
    factor: nullable(number, {
      description: "Of the two instead of `range`: what the number is multiplied by.",
    }),
    offset: nullable(number, { description: "Beside `factor`: what is added." }),
    clamp: nullable(pair, {
      default: [0, 1],
      description: "Of the two, beside `factor`: the least and the most that comes of it.",
    }),
    prior: nullable(Type.Number({ minimum: 0.001, maximum: 1000 }), {
      default: 1,
      description:
        "Of `preference`: in how many comparisons with a middling answer, half of them won, each is taken to have been.",
    }),
  },
  { title: "RewardTerm" },
);

export const rewardTermsSchema = Type.Array(rewardTermSchema, {
  minItems: 1,
  maxItems: termsMax,
  description: "How feedback becomes a reward.",
});

type TermBody = Static<typeof rewardTermSchema>;

const scaleFields = ["range", "factor", "offset", "clamp"] as const;

/** The fields of each kind beside those of all; the first ones are required. */
const fieldsOf: Readonly<
  Record<Kind, { readonly required: readonly string[]; readonly more: readonly string[] }>
> = {
  reaction: { required: ["rewards"], more: [] },
  number: { required: ["feedback_type", "path"], more: scaleFields },
  annotation: { required: ["name"], more: ["rewards", ...scaleFields] },
  preference: { required: [], more: ["feedback_type", "prior"] },
};

/** Adds what the schema cannot say of terms. */
export function checkRewardTerms(terms: unknown, findings: Findings, ...place: readonly string[]): void {
  if (!Array.isArray(terms)) return;
  terms.forEach((term: unknown, index) => {
    const kind = isObject(term) ? kinds.find((one) => one === term["kind"]) : undefined;
    if (isObject(term) && kind !== undefined) checkTerm(term, kind, findings, [...place, String(index)]);
  });
}

function checkTerm(
  term: Readonly<Record<string, unknown>>,
  kind: Kind,
  findings: Findings,
  place: readonly string[],
): void {
  const { required, more } = fieldsOf[kind];
  const has = (name: string): boolean => (term[name] ?? null) !== null;
  for (const name of required.filter((one) => !has(one)))
    report(findings, "missing", `Field required: a term of the kind ${kind} has it.`, ...place, name);
  const foreign = Object.values(fieldsOf)
    .flatMap((fields) => [...fields.required, ...fields.more])
    .filter((name) => !required.includes(name) && !more.includes(name));
  for (const name of new Set(foreign)) {
    if (!has(name)) continue;
    const message = `Value error, a term of the kind ${kind} has no ${name}; leave it out.`;
    report(findings, "value_error", message, ...place, name);
  }
  checkScale(term, has, findings, place);
  const { path, rewards } = term;
  if (typeof path === "string" && pathSteps(path) === null)
    report(
      findings,
      "value_error",
      "Value error, path has an index that is larger than any list.",
      ...place,
      "path",
    );
  if (isObject(rewards) && (Object.keys(rewards).length === 0 || Object.keys(rewards).length > 1000))
    report(findings, "value_error", "Value error, rewards has 1 to 1000 entries.", ...place, "rewards");
}

function checkScale(
  { range, clamp }: Readonly<Record<string, unknown>>,
  has: (name: string) => boolean,
  findings: Findings,
  place: readonly string[],
): void {
  if (has("range") && (has("factor") || has("offset") || has("clamp"))) {
    const message = "Value error, range says how numbers become rewards; leave out factor, offset and clamp.";
    report(findings, "value_error", message, ...place, "range");
  }
  if (Array.isArray(range) && range.length === 2 && range[0] === range[1])
    report(findings, "value_error", "Value error, the two ends of range are the same.", ...place, "range");
  if (Array.isArray(clamp) && clamp.length === 2 && Number(clamp[0]) > Number(clamp[1]))
    report(
      findings,
      "value_error",
      "Value error, clamp has the least first, and then the most.",
      ...place,
      "clamp",
    );
}

/** Reads checked terms. */
export function toRewardRule(terms: readonly TermBody[]): RewardRule {
  return { terms: terms.map(toTerm) };
}

function toTerm(body: TermBody): RewardTerm {
  const weight = body.weight ?? 1;
  // The schema gives each entry a number.
  const rewards = (body.rewards ?? null) as RewardTable | null;
  switch (body.kind) {
    case "reaction":
      return { kind: body.kind, weight, rewards: rewards ?? {} };
    case "number":
      return {
        kind: body.kind,
        weight,
        feedbackType: body.feedback_type ?? "",
        path: pathSteps(body.path ?? "") ?? [],
        scale: toScale(body),
      };
    case "annotation":
      return { kind: body.kind, weight, name: body.name ?? "", rewards, scale: toScale(body) };
    default:
      return { kind: "preference", weight, feedbackType: body.feedback_type ?? null, prior: body.prior ?? 1 };
  }
}

function toScale({ range, factor, offset, clamp }: TermBody): RewardScale {
  if (range) return scaleBetween(range[0], range[1]);
  const [least, most] = clamp ?? [unitScale.least, unitScale.most];
  return { factor: factor ?? 1, offset: offset ?? 0, least, most };
}

/** As answers spell them: scales by their factor. */
export function rewardTermsBody({ terms }: RewardRule) {
  return terms.map((term) => {
    const { kind, weight } = term;
    switch (kind) {
      case "reaction":
        return { kind, weight, rewards: term.rewards };
      case "number":
        return {
          kind,
          weight,
          feedback_type: term.feedbackType,
          path: pathText(term.path),
          ...scaleBody(term.scale),
        };
      case "annotation":
        return { kind, weight, name: term.name, rewards: term.rewards, ...scaleBody(term.scale) };
      default:
        return { kind, weight, feedback_type: term.feedbackType, prior: term.prior };
    }
  });
}

function scaleBody({ factor, offset, least, most }: RewardScale) {
  return { factor, offset, clamp: [least, most] };
}
