// Computes the rewards of the answers to one prompt from the feedback on them. Pure.
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import type { PreferenceTerm, RewardRule, RewardTerm } from "../../../base/domain/rewards/reward-rule.ts";
import { bradleyTerryStrengths, scoreOfStrength } from "./bradley-terry.ts";
import { newestOfEach, type Opinion, personOf } from "./opinions.ts";
import { termValue, type ValueTerm, worseReference } from "./term-value.ts";

/** Score of one answer under a reward rule. */
export interface AnswerScore {
  /** Reward of the answer; null if no term of the rule applies to any record. */
  readonly reward: number | null;
  /** Number of people whose feedback counts in the score. */
  readonly peopleCount: number;
  /** The feedback records that count: for each term, the newest record of each person. No record appears twice. */
  readonly feedback: readonly FeedbackRecord[];
  /** The answer's score by each term of the rule, in the rule's order; null for a term that applies to no record. */
  readonly terms: readonly (TermScore | null)[];
}

export interface TermScore {
  readonly value: number;
  readonly peopleCount: number;
}

interface TermResult extends TermScore {
  readonly feedback: readonly FeedbackRecord[];
}

/**
 * Scores the answers to one prompt.
 *
 * @param answers the feedback records on each answer
 * @param positionOf returns an answer's position by its reference; null for an unknown reference
 * @returns a score for each answer, in order
 */
export function scoreAnswers(
  { terms }: RewardRule,
  answers: readonly (readonly FeedbackRecord[])[],
  positionOf: (reference: string) => number | null,
): readonly AnswerScore[] {
  const byTerm = terms.map((term) =>
    term.kind === "preference"
      ? scoreByPreferences(term, answers, positionOf)
      : answers.map((records) => scoreByValues(term, records)),
  );
  return answers.map((_, answer) =>
    combined(
      terms,
      byTerm.map((results) => results[answer]),
    ),
  );
}

/** Scores an answer with the mean of all people's values; null if the term applies to no record. */
function scoreByValues(term: ValueTerm, records: readonly FeedbackRecord[]): TermResult | null {
  const opinions = records.flatMap((record): readonly Opinion<number>[] => {
    const said = termValue(term, record);
    return said === null ? [] : [{ record, said }];
  });
  const counted = newestOfEach(opinions);
  if (counted.length === 0) return null;
  return {
    value: counted.reduce((sum, { said }) => sum + said, 0) / counted.length,
    peopleCount: counted.length,
    feedback: counted.map(({ record }) => record),
  };
}

interface Preference {
  readonly winner: number;
  readonly loser: number;
}

/** Scores each compared answer with the probability that people would prefer it to an average answer. */
function scoreByPreferences(
  term: PreferenceTerm,
  answers: readonly (readonly FeedbackRecord[])[],
  positionOf: (reference: string) => number | null,
): readonly (TermResult | null)[] {
  const opinions = answers.flatMap((records, winner) =>
    records.flatMap((record): readonly Opinion<Preference>[] => {
      const reference = worseReference(term, record);
      const loser = reference === null ? null : positionOf(reference);
      return loser === null || loser === winner ? [] : [{ record, said: { winner, loser } }];
    }),
  );
  const ofPairs = new Map<string, Opinion<Preference>[]>();
  for (const opinion of opinions) {
    const { winner, loser } = opinion.said;
    const pair = `${Math.min(winner, loser)} ${Math.max(winner, loser)}`;
    ofPairs.set(pair, [...(ofPairs.get(pair) ?? []), opinion]);
  }
  const counted = [...ofPairs.values()].flatMap((ofPair) => newestOfEach(ofPair));
  const strengths = bradleyTerryStrengths(
    counted.map(({ said }) => said),
    answers.length,
    term.prior,
  );
  return answers.map((_, answer) => {
    const own = counted.filter(({ said }) => said.winner === answer || said.loser === answer);
    if (own.length === 0) return null;
    const feedback = own.map(({ record }) => record);
    return { value: scoreOfStrength(strengths[answer]), peopleCount: countPeople(feedback), feedback };
  });
}

function combined(terms: readonly RewardTerm[], results: readonly (TermResult | null)[]): AnswerScore {
  let [sum, weightSum] = [0, 0];
  results.forEach((result, index) => {
    if (result === null) return;
    sum += terms[index].weight * result.value;
    weightSum += terms[index].weight;
  });
  const feedback = [...new Set(results.flatMap((result) => result?.feedback ?? []))];
  return {
    reward: weightSum === 0 ? null : sum / weightSum,
    peopleCount: countPeople(feedback),
    feedback,
    terms: results.map((result) => result && { value: result.value, peopleCount: result.peopleCount }),
  };
}

function countPeople(records: readonly FeedbackRecord[]): number {
  return new Set(records.map(personOf)).size;
}
