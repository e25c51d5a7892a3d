// API format of the terms of a reward rule. A term's kind determines which fields it may have. A field of another kind
// is refused: it would have no effect, although its author expects one.
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

/** Maximum number of terms, absolute value of a reward, and weight. Larger numbers are probably mistakes. */
const [termsMax, rewardMax, weightMax] = [20, 1e6, 1e6];

const reward = Type.Number({ minimum: -rewardMax, maximum: rewardMax });
const number = Type.Number({ minimum: -1e15, maximum: 1e15 });
const pair = Type.Array(number, { minItems: 2, maxItems: 2 });

const rewardTermSchema = Type.Object(
  {
    kind: Type.Enum([...kinds], {
      description:
        "Feedback that the term reads: reactions, a number in the payload, the value of an annotation, or comparisons of two answers.",
    }),
    weight: nullable(Type.Number({ exclusiveMinimum: 0, maximum: weightMax }), {
      default: 1,
      description:
        "Weight of the term. An answer's reward is the weighted mean of the terms for which it has feedback.",
    }),
    rewards: nullable(Type.Object({}, { additionalProperties: reward }), {
      description:
        "With `reaction`, required: reward of each emoji, written as the emoji or as its name between colons (`:thumbs_up:`). With `annotation`, optional: reward of each value that is a string.",
      examples: [{ "👍": 1, "👎": 0 }],
    }),
    feedback_type: nullable(Type.String({ minLength: 1, maxLength: 256 }), {
      description: "Type of the feedback to read. Required with `number`, optional with `preference`.",
    }),
    path: nullable(Type.String({ minLength: 1, maxLength: 1024 }), {
      description:
        "With `number`, required: path of the number in the payload, as in `/feedback/query`; for example `scores.helpfulness`.",
    }),
    name: nullable(Type.String({ minLength: 1, maxLength: 256 }), {
      description:
        "With `annotation`, required: name of the annotation. The term reads feedback of the types `<maker>.annotation.<name>` and `annotation.<name>`. Answers to questions that a queue defines itself have the type `annotation.<name>`.",
    }),
    range: nullable(pair, {
      description:
        "With `number` and `annotation`: the two numbers that become the rewards 0 and 1. Numbers between them are interpolated linearly, other numbers are clamped.",
      examples: [[1, 5]],
    }),
    factor: nullable(number, {
      description:
        "With `number` and `annotation`, instead of `range`: factor that the number is multiplied by; 1 by default.",
    }),
    offset: nullable(number, {
      description:
        "With `number` and `annotation`, instead of `range`: value that is added to the number after the multiplication by `factor`; 0 by default.",
    }),
    clamp: nullable(pair, {
      default: [0, 1],
      description:
        "With `number` and `annotation`, instead of `range`: minimum and maximum of the resulting reward.",
    }),
    prior: nullable(Type.Number({ minimum: 0.001, maximum: 1000 }), {
      default: 1,
      description:
        "With `preference`: number of assumed comparisons of each answer with an average answer, in addition to the real comparisons. Half of the assumed comparisons count as won. A greater value moves rewards towards the average.",
    }),
  },
  { title: "RewardTerm" },
);

export const rewardTermsSchema = Type.Array(rewardTermSchema, {
  minItems: 1,
  maxItems: termsMax,
  description: "Terms of the rule, from which the server computes an answer's reward.",
});

type TermBody = Static<typeof rewardTermSchema>;

const scaleFields = ["range", "factor", "offset", "clamp"] as const;

/** Fields of each kind of term, in addition to those that all kinds have. `more` lists the optional ones. */
const fieldsOf: Readonly<
  Record<Kind, { readonly required: readonly string[]; readonly more: readonly string[] }>
> = {
  reaction: { required: ["rewards"], more: [] },
  number: { required: ["feedback_type", "path"], more: scaleFields },
  annotation: { required: ["name"], more: ["rewards", ...scaleFields] },
  preference: { required: [], more: ["feedback_type", "prior"] },
};

/**
 * Adds faults of the terms that the schema cannot detect: missing fields, fields of other kinds, and contradictions
 * between fields.
 */
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

/** Converts checked terms to a reward rule. */
export function toRewardRule(terms: readonly TermBody[]): RewardRule {
  return { terms: terms.map(toTerm) };
}

function toTerm(body: TermBody): RewardTerm {
  const weight = body.weight ?? 1;
  // Safe cast: the schema allows only numbers as values.
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

/**
 * Converts a reward rule to the terms that answers show. They give every scale as factor, offset and clamp, even if the
 * request used `range`.
 */
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
