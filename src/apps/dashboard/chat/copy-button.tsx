// Button that copies a text, and says so.
import { useState } from "preact/hooks";
import { messageOf } from "../components/errors/error-text.ts";

export function CopyButton({ text, label }: { readonly text: string; readonly label: string }) {
  const [state, setState] = useState<string | null>(null);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setState("Copied");
    } catch (error) {
      setState(`Not copied: ${messageOf(error)}`);
    }
    setTimeout(() => setState(null), 2000);
  };
  return (
    <button type="button" class="plain" aria-live="polite" onClick={() => void copy()}>
      {state ?? label}
    </button>
  );
}
