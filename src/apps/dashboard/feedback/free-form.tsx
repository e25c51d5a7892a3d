// Form for feedback with any type and a JSON payload.
import { useState } from "preact/hooks";
import { freeRecord, type Given } from "./records.ts";

const example = '{"value": 1}';

export function FreeForm({ onGive }: { readonly onGive: (given: Given, onDone: () => void) => void }) {
  const [type, setType] = useState("score");
  const [json, setJson] = useState(example);
  const [fault, setFault] = useState<string | null>(null);
  const send = (): void => {
    const record = freeRecord(type, json);
    if (typeof record === "string") return setFault(record);
    setFault(null);
    onGive(record, () => setJson(example));
  };
  return (
    <details>
      <summary>Other feedback</summary>
      <form
        class="stacked"
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        <label>
          Type
          <input value={type} maxLength={256} onInput={(event) => setType(event.currentTarget.value)} />
        </label>
        <label>
          Payload, as JSON
          <textarea
            rows={3}
            class="code"
            value={json}
            aria-invalid={fault !== null}
            onInput={(event) => setJson(event.currentTarget.value)}
          />
        </label>
        {fault !== null && (
          <p class="failure" role="alert">
            {fault}
          </p>
        )}
        <button type="submit">Send</button>
      </form>
    </details>
  );
}
