// The message of an error, announced by screen readers; nothing if there is none.
import { CodeText } from "../errors/code-text.tsx";

export function Failure({ of }: { readonly of: string | null }) {
  if (of === null) return null;
  return (
    <p class="failure" role="alert">
      <CodeText of={of} />
    </p>
  );
}
