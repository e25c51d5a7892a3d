// Questions of a queue as shown to annotators: its own, and those of the annotation specs that it names.
import { type AnswerForm, answerFormOf } from "../../base/domain/annotation/question.ts";
import type { QueueContent } from "../../base/domain/annotation/queue.ts";
import type { JsonObject } from "../../base/domain/text/json.ts";
import { parseReference } from "../feedback/references.ts";

export interface AskedQuestion {
  readonly name: string;
  readonly text: string;
  /** Null if the spec is not stored here: then any answer is accepted. */
  readonly schema: JsonObject | null;
  /** Null if the schema has no form for people: the answer is JSON. */
  readonly form: AnswerForm | null;
  readonly isOptional: boolean;
  /** Spec of the question; null for one of the queue's own. */
  readonly specRef: string | null;
}

/** Content of a stored annotation spec. */
export interface SpecText {
  readonly text: string;
  readonly schema: JsonObject;
}

/** Finds a spec by its reference in a project; null if it is not stored there. */
export type FindSpec = (projectId: string, reference: string) => Promise<SpecText | null>;

/** Returns the questions of specs in order, then the queue's own. */
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

/** Returns the annotation name of a spec; null if the reference is not to an object. */
export function specName(reference: string): string | null {
  const parsed = parseReference(reference);
  return parsed.isValid && parsed.reference.kind === "object" ? parsed.reference.name : null;
}

/** Returns the feedback type of answers to a question; Weave's clients look for their vendor's type. */
export function feedbackTypeOf({ name, specRef }: Pick<AskedQuestion, "name" | "specRef">): string {
  if (specRef === null) return `annotation.${name}`;
  return `${/^weave:/i.test(specRef) ? "wandb" : "vendor"}.annotation.${name}`;
}
