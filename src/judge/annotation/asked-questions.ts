// Finds the questions that a queue shows to annotators: its own questions, and those of the annotation specs to which
// it refers.
import { type AnswerForm, answerFormOf } from "../../base/domain/annotation/question.ts";
import type { QueueContent } from "../../base/domain/annotation/queue.ts";
import type { JsonObject } from "../../base/domain/text/json.ts";
import { parseReference } from "../feedback/references.ts";

export interface AskedQuestion {
  readonly name: string;
  readonly text: string;
  /** JSON schema of the answers. Null if this server does not store the spec; any answer is then accepted. */
  readonly schema: JsonObject | null;
  /**
   * Form for showing the question and entering an answer. Null if no form can be derived from the schema; annotators
   * then enter the answer as JSON.
   */
  readonly form: AnswerForm | null;
  readonly isOptional: boolean;
  /** Reference to the spec that defines the question; null for a question that the queue defines. */
  readonly specRef: string | null;
}

/** Content of a stored annotation spec. */
export interface SpecText {
  readonly text: string;
  readonly schema: JsonObject;
}

/** Finds an annotation spec in a project by its reference. Returns null if the project does not store the spec. */
export type FindSpec = (projectId: string, reference: string) => Promise<SpecText | null>;

/** Returns first the questions of the specs to which a queue refers, in order, then the queue's own questions. */
export async function askedQuestions(
  {
    projectId,
    scorerRefs,
    questions,
  }: Pick<QueueContent, "scorerRefs" | "questions"> & {
    readonly projectId: string;
  },
  findSpec: FindSpec,
): Promise<readonly AskedQuestion[]> {
  const asked: AskedQuestion[] = [];
  for (const reference of scorerRefs) {
    const spec = await findSpec(projectId, reference);
    const name = specName(reference) ?? reference;
    const schema = spec?.schema ?? null;
    asked.push({
      name,
      text: spec?.text ?? name,
      schema,
      form: schema === null ? null : toAnswerForm(schema),
      isOptional: false,
      specRef: reference,
    });
  }
  return [...asked, ...questions.map((one) => ({ ...one, form: toAnswerForm(one.schema), specRef: null }))];
}

function toAnswerForm(schema: JsonObject): AnswerForm | null {
  const read = answerFormOf(schema);
  return "form" in read ? read.form : null;
}

/** Returns the name of the annotation spec to which a reference refers; null if it does not refer to an object. */
export function specName(reference: string): string | null {
  const parsed = parseReference(reference);
  return parsed.isValid && parsed.reference.kind === "object" ? parsed.reference.name : null;
}

/**
 * Returns the type of feedback records that answer a question. For a spec whose reference has Weave's scheme, this is
 * the type that Weave's clients look up.
 */
export function feedbackTypeOf({ name, specRef }: Pick<AskedQuestion, "name" | "specRef">): string {
  if (specRef === null) return `annotation.${name}`;
  return `${/^weave:/i.test(specRef) ? "wandb" : "vendor"}.annotation.${name}`;
}
