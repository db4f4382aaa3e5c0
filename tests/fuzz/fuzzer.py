"""Coverage-guided fuzzing of targets, one after the other: SECONDS FOLDER NAME….

The exit code is 0 if no defect appears. The output of a target is in FOLDER/NAME.log, its failing input in
FOLDER/NAME.
"""

import os
import sys
from pathlib import Path


def main() -> int:
    import atheris

    with atheris.instrument_imports(include=["idstore"]):  # slower than a target, so the targets share it
        from fuzz_targets import TARGETS

    seconds, folder, *names = int(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:]
    worst = 0
    for name in names:
        process = os.fork()
        if process == 0:
            with (folder / f"{name}.log").open("wb") as log:
                os.dup2(log.fileno(), 1)
                os.dup2(log.fileno(), 2)
            found = folder / name
            corpus = found / "corpus"
            corpus.mkdir(parents=True)
            target = TARGETS[name]()
            for number, seed in enumerate(target.seeds):
                (corpus / f"seed{number}").write_bytes(seed)
            options = [
                f"-max_total_time={seconds}",
                f"-artifact_prefix={found}/",
                "-max_len=20000",
                "-rss_limit_mb=4096",
                "-timeout=30",
            ]
            atheris.Setup([sys.argv[0], *options, str(corpus)], target)
            atheris.Fuzz()
            os._exit(1)  # Fuzz() ends the process itself
        _, status = os.waitpid(process, 0)
        worst = max(worst, abs(os.waitstatus_to_exitcode(status)))
    return worst


if __name__ == "__main__":
    sys.exit(main())
