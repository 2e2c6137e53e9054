export function measurePage(): {
  readonly content: number;
  readonly scrolling: readonly string[];
  readonly pictures: readonly { readonly width: number; readonly marks: number }[];
  readonly outside: readonly string[];
};
export function labelFaults(): readonly string[];
export function foldFaults(): readonly string[];
export function plantOverlap(): void;
export function plantLine(): void;
export function contrastsOf(): readonly { readonly text: string; readonly contrast: number }[];
export function isTargetSeen(): boolean;
export function areShown(count: number): boolean;
export function focusFirstLink(): void;
export function paperColor(): string;
export function isFocusSeen(): boolean;
export function isFocusInContent(): boolean;
export function faultsByAxe(): Promise<readonly string[]>;
