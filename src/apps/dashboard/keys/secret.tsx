// Dialog that shows a new secret once.
import { Dialog } from "../components/forms/dialog.tsx";
import { Command } from "../components/empty.tsx";

export function Secret({ secret, onClose }: { readonly secret: string; readonly onClose: () => void }) {
  return (
    <Dialog title="Copy the secret now" onClose={onClose}>
      <p>The server stores only its hash, so neither this page nor the server can show the secret again.</p>
      <Command text={secret} />
    </Dialog>
  );
}
