// Button that shows a feedback record as the server stores it.
import { useState } from "preact/hooks";
import type { FeedbackRecord } from "../../client/api.ts";
import { Command } from "../components/empty.tsx";
import { Dialog } from "../components/forms/dialog.tsx";

export function RawRecord({ record }: { readonly record: FeedbackRecord }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        class="plain"
        aria-label={`Raw record ${record.id.slice(-8)}`}
        onClick={() => setIsOpen(true)}
      >
        Raw
      </button>
      {isOpen && (
        <Dialog title="Raw record" onClose={() => setIsOpen(false)}>
          <Command text={JSON.stringify(record, null, 2)} />
        </Dialog>
      )}
    </>
  );
}
