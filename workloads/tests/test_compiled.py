"""Where Python puts and finds compiled files of packages. The packages are stand-ins of one line each."""

import os
import subprocess
import sys
import tempfile
import unittest

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_PROGRAM = "from session import compiled; compiled.keep(); import torch, transformers"


class CompiledTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.site, self.cache = os.path.join(folder.name, "site"), os.path.join(folder.name, "cache")
        for package in ("torch", "transformers"):
            os.makedirs(os.path.join(self.site, package))
            with open(os.path.join(self.site, package, "__init__.py"), "w", encoding="utf-8") as file:
                file.write("value = 1\n")

    def start(self, **env):
        env.update(XDG_CACHE_HOME=self.cache, PYTHONDONTWRITEBYTECODE="1", PYTHONPATH=_HERE + ":" + self.site)
        subprocess.run([sys.executable, "-c", _PROGRAM], env=dict(os.environ, **env), check=True)

    def compiled(self, folder):
        return sorted(name.split(".")[0] for _, _, names in os.walk(folder) for name in names if name.endswith(".pyc"))

    def test_missing_ones_are_kept_outside_the_installation(self):
        self.start()
        folder = os.path.join(self.cache, "deepprof", "python")
        self.assertEqual(self.compiled(self.site), [])
        self.assertTrue(os.path.isdir(folder + self.site))
        self.assertEqual(self.compiled(folder + self.site), ["__init__", "__init__"])
        self.assertFalse(os.path.exists(folder + _HERE), "files of the program itself")

    def test_those_of_an_installation_are_used(self):
        subprocess.run([sys.executable, "-m", "compileall", "-q", self.site], check=True)
        self.start()
        self.assertEqual(self.compiled(self.cache), [])

    def test_the_folder_of_the_user_is_used(self):
        own = os.path.join(self.cache, "own")
        self.start(PYTHONPYCACHEPREFIX=own)
        self.assertEqual(self.compiled(own + self.site), ["__init__", "__init__"])
        self.assertEqual(os.listdir(self.cache), ["own"])


if __name__ == "__main__":
    unittest.main()
