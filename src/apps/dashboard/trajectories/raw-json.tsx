// Shows a value as JSON, with a button to copy it.
import { useState } from "preact/hooks";

export function RawJson({ value }: { readonly value: unknown }) {
  const [isOpen, setIsOpen] = useState(false);
  const [copied, setCopied] = useState("");
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(JSON.stringify(value, null, 2));
      setCopied("Copied.");
    } catch {
      // Browsers allow copying only on pages that were loaded over HTTPS or from this machine.
      setCopied("The browser does not allow copying here; select the text and copy it.");
      setIsOpen(true);
    }
  };
  return (
    <details open={isOpen} onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>JSON</summary>
      {isOpen && (
        <>
          <p>
            <button type="button" onClick={() => void copy()}>
              Copy
            </button>{" "}
            <span role="status">{copied}</span>
          </p>
          <div class="said code" tabIndex={0} role="region" aria-label="JSON">
            {JSON.stringify(value, null, 2)}
          </div>
        </>
      )}
    </details>
  );
}
