"""What a lull was built with."""
import json
import subprocess


def of(lull):
    """The names of features, as `lull info` has them."""
    told = subprocess.run([lull, "info", "--format", "json"], check=True, capture_output=True, text=True).stdout
    return {row["id"] for row in json.loads(told)["tables"]["features"]["rows"] if row["values"][0] == "yes"}
