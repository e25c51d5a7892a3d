// Reduces feedback by several people to each person's newest opinion, so that every person has the same weight.
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";

/** The opinion that one feedback record expresses. */
export interface Opinion<Said> {
  readonly record: FeedbackRecord;
  readonly said: Said;
}

/**
 * Returns the newest opinion of each person. Of opinions with the same time, the one with the greatest id is the
 * newest.
 */
export function newestOfEach<Said>(opinions: readonly Opinion<Said>[]): readonly Opinion<Said>[] {
  const newest = new Map<string, Opinion<Said>>();
  for (const opinion of opinions) {
    const person = personOf(opinion.record);
    const other = newest.get(person);
    if (other === undefined || isNewer(opinion.record, other.record)) newest.set(person, opinion);
  }
  return [...newest.values()];
}

/**
 * Returns the person who gave the feedback in a record. An application that stores many people's feedback with one API
 * key names the person in the field `creator`.
 */
export function personOf({
  vendorUserId,
  creator,
}: Pick<FeedbackRecord, "vendorUserId" | "creator">): string {
  return JSON.stringify([vendorUserId, creator]);
}

function isNewer(one: FeedbackRecord, other: FeedbackRecord): boolean {
  const apart = one.createdAt.getTime() - other.createdAt.getTime();
  return apart === 0 ? one.id > other.id : apart > 0;
}
