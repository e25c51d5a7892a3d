// Content of a list without entries: what the list will show, and commands or links that create the first entry.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Icon, type IconName } from "./icon.tsx";

export function Empty({
  icon,
  title,
  commands = [],
  children,
}: {
  readonly icon: IconName;
  readonly title: string;
  /** Shell commands that create the first entry. */
  readonly commands?: readonly string[];
  readonly children?: ComponentChildren;
}) {
  return (
    <div class="empty">
      <Icon of={icon} />
      <h2>{title}</h2>
      {children !== undefined && <p>{children}</p>}
      {commands.map((command) => (
        <Command key={command} text={command} />
      ))}
    </div>
  );
}

/** A text, such as a shell command, with a button that copies it. */
export function Command({ text }: { readonly text: string }) {
  const [isCopied, setIsCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    setIsCopied(true);
    setTimeout(() => setIsCopied(false), 2000);
  };
  return (
    <div class="command">
      <pre dir="ltr">{text}</pre>
      <button
        type="button"
        class="plain icon-only"
        aria-label={isCopied ? "Copied" : "Copy"}
        title={isCopied ? "Copied" : "Copy"}
        onClick={() => void copy()}
      >
        <Icon of={isCopied ? "check" : "copy"} />
      </button>
    </div>
  );
}
