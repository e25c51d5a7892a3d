// Reads the records of a feedback batch from its bytes. A single error reports all faults of all records.
import { foreignMessage, mayReach, type Caller } from "../../../base/domain/access.ts";
import { parseProjectId } from "../../../base/domain/project.ts";
import { quoted, ServiceError } from "../../../base/domain/service-error.ts";
import { systemClock } from "../../../base/domain/clock.ts";
import {
  type FeedbackBatch,
  FeedbackPacker,
  type PackForm,
} from "../../../base/domain/feedback-query/feedback-batch.ts";
import { newUuid7 } from "../../../base/domain/random.ts";
import {
  checkContent,
  checkedFeedback,
  type ContentCheck,
  type FeedbackInput,
} from "../../../judge/feedback/check-content.ts";
import { check } from "../../../base/validation/check.ts";
import { isAtFaultLimit, report, type Findings } from "../../../base/validation/findings.ts";
import { readForm } from "../body.ts";
import {
  checkSpellings,
  feedbackBatchForm,
  feedbackRecordSchema,
  toFeedbackInput,
  usesOtherSpelling,
  type FeedbackBody,
} from "./feedback.ts";
import type { BodyLimits } from "../body-limits.ts";
import { parseListBody, type ListBody } from "../../../base/validation/list-body.ts";
import type { PackedLines } from "../packed-lines.ts";
import { BatchAnswerWriter } from "./batch-answer.ts";

export interface ReadFeedbackBatch {
  readonly batch: FeedbackBatch;
  /** Answer to each record, to be completed by `newBatchAnswer`. */
  readonly answers: PackedLines;
  /** For each record: true if its answer uses the less common name of a field that has two names. */
  readonly useOtherSpelling: readonly boolean[];
  readonly ignored: readonly string[];
}

/**
 * Reads a batch. A batch with too many records is refused before its records are read, with a code of its own. After
 * this code, clients send the batch in halves; after any other error, they drop it.
 *
 * @throws ServiceError `too_large` for too many records; `invalid` with every fault of every record; `forbidden` if
 * every fault is a project that the caller may not access
 */
export function readFeedbackBatch(
  bytes: Buffer,
  limits: BodyLimits,
  { caller, packForm }: { readonly caller: Caller; readonly packForm: PackForm },
): ReadFeedbackBatch {
  const list = parseListBody(bytes, { member: "batch", itemsMax: limits.feedbackBatchRecords }, limits.json);
  if (list.itemCount > limits.feedbackBatchRecords)
    throw tooMany(list.itemCount, limits.feedbackBatchRecords);
  const writer = new BatchWriter(caller, packForm);
  let foreignCount = 0;
  let found: Findings | null = null;
  try {
    const { ignored } = readForm(feedbackBatchForm, list.rest, (findings) => {
      found = findings;
      foreignCount = readRecords(list, findings, caller, writer);
    });
    return { ...writer.written(), ignored };
  } catch (error) {
    throw foreignCount > 0 && foreignCount === countOf(found) ? asForbidden(error) : error;
  }
}

class BatchWriter {
  readonly #packer: FeedbackPacker;
  readonly #answers: BatchAnswerWriter;
  readonly #useOtherSpelling: boolean[] = [];

  constructor({ owner }: Caller, packForm: PackForm) {
    this.#packer = new FeedbackPacker(packForm);
    this.#answers = new BatchAnswerWriter(owner);
  }

  /**
   * Adds a record, and the answer to it.
   *
   * @param found result of the content check, which found no faults
   */
  add(body: FeedbackBody, found: ContentCheck): void {
    const id = body.id ?? newUuid7(systemClock);
    const { payloadText } = found;
    this.#packer.add({ id, ...checkedFeedback(found) }, payloadText);
    this.#answers.add({ id, payloadText, usesOtherSpelling: usesOtherSpelling(body) });
    this.#useOtherSpelling.push(usesOtherSpelling(body));
  }

  written(): Omit<ReadFeedbackBatch, "ignored"> {
    return {
      batch: this.#packer.packed(),
      answers: this.#answers.packed(),
      useOtherSpelling: this.#useOtherSpelling,
    };
  }
}

function countOf(findings: Findings | null): number {
  return findings?.faultCount ?? 0;
}

/**
 * Reads the records of a batch. Until the first fault, adds each record to the writer.
 *
 * @returns the number of faults for projects that the caller may not access
 */
function readRecords({ items }: ListBody, findings: Findings, caller: Caller, writer: BatchWriter): number {
  let index = 0;
  let foreignCount = 0;
  for (const item of items) {
    findings.path.push("batch", String(index));
    const isShaped = check(feedbackRecordSchema, item, findings);
    checkSpellings(item, findings);
    if (isShaped) {
      // Safe cast: the item has been checked against `feedbackRecordSchema`.
      const body = item as FeedbackBody;
      const input = toFeedbackInput(body);
      const found = checkContent(input);
      foreignCount += addFaults(input, found, findings, caller);
      if (findings.faultCount === 0) writer.add(body, found);
    }
    findings.path.length -= 2;
    index += 1;
    if (isAtFaultLimit(findings)) break;
  }
  return foreignCount;
}

/**
 * Adds the faults of a record's content and of its project.
 *
 * @returns 1 if the caller may not access the project, otherwise 0
 */
function addFaults(
  { projectId }: FeedbackInput,
  { faults }: ContentCheck,
  findings: Findings,
  caller: Caller,
): number {
  for (const { path, message, type } of faults) {
    // If the reference is missing, `checkSpellings` has already reported this, with both names of the field.
    if (type !== "missing" || path[0] !== "vendor_ref") report(findings, type, message, ...path);
  }
  const project = parseProjectId(projectId);
  if (project === null || mayReach(caller, project)) return 0;
  const message = foreignMessage(caller, project, `The project ${quoted(projectId)}`);
  report(findings, "forbidden", message, "project_id");
  return 1;
}

function asForbidden(error: unknown): unknown {
  if (!(error instanceof ServiceError)) return error;
  const { message, faults } = error;
  return new ServiceError({ code: "forbidden", message, faults, cause: error });
}

function tooMany(count: number, countMax: number): ServiceError {
  const message = `The batch has ${count} records; at most ${countMax} are allowed at a time. Send halves.`;
  const faults = [{ location: ["body", "batch"], message, type: "too_long" }];
  return new ServiceError({ code: "too_large", faults });
}
