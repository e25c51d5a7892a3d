// Dialog that creates an annotation queue with its questions.
import { useState } from "preact/hooks";
import type { Hone } from "../../client/hone.ts";
import { FormDialog } from "../components/forms/form-dialog.tsx";
import { numberOrNull, textIn } from "../components/forms/form-values.ts";
import { ProjectField } from "../components/forms/projects.tsx";
import { type AnswerKind, answerKinds, type QuestionFields, questionOf } from "./question-fields.ts";

const empty: QuestionFields = { name: "", text: "", kind: "yes-no", values: "", isOptional: false };

export function NewQueue({
  hone,
  projects,
  project,
  onClose,
  onMade,
}: {
  readonly hone: Hone;
  readonly projects: readonly string[];
  readonly project: string;
  readonly onClose: () => void;
  readonly onMade: (queue: { readonly project_id: string; readonly queue_id: string }) => void;
}) {
  const [questions, setQuestions] = useState<readonly QuestionFields[]>([empty]);
  const create = async (form: HTMLFormElement): Promise<void> => {
    const project_id = textIn(form, "project");
    const queue_id = await hone.queues.create({
      project_id,
      name: textIn(form, "name"),
      description: textIn(form, "description"),
      questions: questions.map(questionOf),
      annotators_per_item: numberOrNull(form, "annotators"),
    });
    onMade({ project_id, queue_id });
  };
  return (
    <FormDialog title="New queue" needs="judge" done="Queue created." onSubmit={create} onClose={onClose}>
      <ProjectField projects={projects} value={project} isRequired />
      <label>
        Name
        <input name="name" required placeholder="tone" />
      </label>
      <label>
        Description for annotators
        <input name="description" />
      </label>
      <label>
        Annotators who answer each item
        <input name="annotators" type="number" min={1} max={20} defaultValue="1" />
      </label>
      {questions.map((question, index) => (
        <Question
          key={index}
          number={index + 1}
          of={question}
          onChange={(change) => setQuestions(questions.with(index, { ...question, ...change }))}
        />
      ))}
      <p>
        <button type="button" class="plain" onClick={() => setQuestions([...questions, empty])}>
          Add a question
        </button>
        {questions.length > 1 && (
          <button type="button" class="plain" onClick={() => setQuestions(questions.slice(0, -1))}>
            Remove the last question
          </button>
        )}
      </p>
    </FormDialog>
  );
}

function Question({
  number,
  of: { name, text, kind, values, isOptional },
  onChange,
}: {
  readonly number: number;
  readonly of: QuestionFields;
  readonly onChange: (change: Partial<QuestionFields>) => void;
}) {
  const example = { choices: "kind, neutral, rude", range: "1..5" };
  return (
    <fieldset>
      <legend>Question {number}</legend>
      <label>
        Short name
        <input
          required
          value={name}
          placeholder="tone"
          onInput={(event) => onChange({ name: event.currentTarget.value.trim() })}
        />
      </label>
      <label>
        Question
        <input
          value={text}
          placeholder="How does it sound?"
          onInput={(event) => onChange({ text: event.currentTarget.value })}
        />
      </label>
      <label>
        Answer
        {/* Safe cast: the options are the keys of the record. */}
        <select
          value={kind}
          onChange={(event) => onChange({ kind: event.currentTarget.value as AnswerKind })}
        >
          {Object.entries(answerKinds).map(([value, title]) => (
            <option key={value} value={value}>
              {title}
            </option>
          ))}
        </select>
      </label>
      {(kind === "choices" || kind === "range") && (
        <label>
          {kind === "choices" ? "Choices" : "Range"}
          <input
            required
            value={values}
            placeholder={example[kind]}
            onInput={(event) => onChange({ values: event.currentTarget.value })}
          />
        </label>
      )}
      <label class="check">
        <input
          type="checkbox"
          checked={isOptional}
          onChange={(event) => onChange({ isOptional: event.currentTarget.checked })}
        />
        May be left unanswered
      </label>
    </fieldset>
  );
}
