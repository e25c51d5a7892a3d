// The message of an error, announced by screen readers; nothing if there is none.

export function Failure({ of }: { readonly of: string | null }) {
  if (of === null) return null;
  return (
    <p class="failure" role="alert">
      {of}
    </p>
  );
}
