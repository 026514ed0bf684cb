// Command tasks has the toolpost command write 30 files with a real model of 135
// million parameters that was never taught to call tools, and answers every
// question with yes. It fails if a file was written that nobody asked for, or if
// fewer than 20 are right. conformance/run tasks sets it up.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolpost/toolpost/conformance/realmodel"
)

// least is how many of the tasks must be right.
const least = 20

// task is what is asked for, and the one file that is right.
type task struct{ say, path, content string }

var tasks = []task{
	{`Write "Hello, world!" to greeting.txt`, "greeting.txt", "Hello, world!"},
	{`Write a file greeting.txt with the text Hello there`, "greeting.txt", "Hello there"},
	{`Create a file called todo.md that says "buy milk"`, "todo.md", "buy milk"},
	{`Create the file notes/today.txt with the content "Call Anna at nine."`, "notes/today.txt", "Call Anna at nine."},
	{`Save "42" to answer.txt`, "answer.txt", "42"},
	{`Please write the line "export A=1" into the file env.sh`, "env.sh", "export A=1"},
	{`Write the text see you tomorrow to message.txt`, "message.txt", "see you tomorrow"},
	{`Make a new file hello.py with the content "print('hello')"`, "hello.py", "print('hello')"},
	{`Put "Paris, Rome, Oslo" into cities.csv`, "cities.csv", "Paris, Rome, Oslo"},
	{`Write a file named version.txt containing 1.4.2`, "version.txt", "1.4.2"},
	{`Create config/app.ini saying "debug=true"`, "config/app.ini", "debug=true"},
	{`I need a file shopping.txt with the words eggs and bread`, "shopping.txt", "eggs and bread"},
	{`Could you write "Meeting at noon" to the file reminder.txt?`, "reminder.txt", "Meeting at noon"},
	{`Write "Dear Bob," to letters/bob.txt`, "letters/bob.txt", "Dear Bob,"},
	{`Save the sentence The sky is blue. to sky.txt`, "sky.txt", "The sky is blue."},
	{`Create a text file poem.txt with the text "Roses are red"`, "poem.txt", "Roses are red"},
	{`Write a file status.json with the content "{}"`, "status.json", "{}"},
	{`Store "secret garden" in the file book.txt`, "book.txt", "secret garden"},
	{`Write the message "Backup finished" to log/backup.log`, "log/backup.log", "Backup finished"},
	{`Create README.txt with the text "Start here."`, "README.txt", "Start here."},
	{`Write Hola to spanish.txt`, "spanish.txt", "Hola"},
	{`Create the file a.txt and write "alpha" into it`, "a.txt", "alpha"},
	{`Write a new file recipes/soup.md that says "Boil water"`, "recipes/soup.md", "Boil water"},
	{`Write "line one" to lines.txt, please`, "lines.txt", "line one"},
	{`Please create a file named birthday.txt with the text "June 12"`, "birthday.txt", "June 12"},
	{`Write the words good night to night.txt`, "night.txt", "good night"},
	{`Save a file phone.txt containing "555 0100"`, "phone.txt", "555 0100"},
	{`Write "<h1>Home</h1>" to web/index.html`, "web/index.html", "<h1>Home</h1>"},
	{`Make the file motto.txt reading "Less is more"`, "motto.txt", "Less is more"},
	{`Write "Danke" to german.txt`, "german.txt", "Danke"},
}

func main() {
	url := flag.String("url", "", "a running server; empty starts one")
	python := flag.String("python", os.Getenv("TOOLPOST_REALMODEL_PYTHON"), "the Python that has the server and the model")
	root := flag.String("root", "..", "the root of the module")
	only := flag.String("only", "", "only the tasks that contain this")
	verbose := flag.Bool("v", false, "print what the command said")
	flag.Parse()
	if err := all(*url, *python, *root, *only, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "tasks:", err)
		os.Exit(1)
	}
}

func all(url, python, root, only string, verbose bool) error {
	if url == "" {
		started, stop, err := realmodel.Serve(python, filepath.Join(root, "conformance", "realmodel"), 1) // two threads wait for each other on busy cores
		if err != nil {
			return err
		}
		defer stop()
		url = started
	}
	dir, err := os.MkdirTemp("", "tasks")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	bin := filepath.Join(dir, "toolpost")
	build := exec.Command("go", "build", "-o", bin, "./cmd/toolpost")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	config := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(config, []byte("providers: {llamacpp: {base_url: "+url+"/v1}}\n"), 0o600); err != nil {
		return err
	}
	began := time.Now()
	right, wrong, asked := 0, 0, 0
	for i, t := range tasks {
		if !strings.Contains(t.say, only) {
			continue
		}
		asked++
		work := filepath.Join(dir, fmt.Sprint(i))
		if err := os.Mkdir(work, 0o755); err != nil {
			return err
		}
		said := ask(bin, config, dir, work, t.say)
		verdict, err := judge(work, t)
		if err != nil {
			return err
		}
		switch {
		case verdict == "right":
			right++
		case strings.HasPrefix(verdict, "wrong file"):
			wrong++
		}
		fmt.Printf("%-60s %s\n", t.say, verdict)
		if verbose && verdict != "right" {
			fmt.Println(said)
		}
	}
	fmt.Printf("%d tasks: %d right, %d with a file that nobody asked for, in %v\n", asked, right, wrong, time.Since(began).Round(time.Second))
	if wrong > 0 || only == "" && right < least {
		return fmt.Errorf("%d wrong files, and %d right where at least %d must be", wrong, right, least)
	}
	return nil
}

// ask runs the command in a folder, with every question answered yes, and
// returns what it said. A task that fails leaves no file.
func ask(bin, config, store, work, say string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, "run", "-m", "llamacpp/any", "--temperature", "0", "--max-turns", "4", "--max-tokens", "200", "--allow", "write", "--yes", say)
	cmd.Dir = work
	cmd.Env = append(os.Environ(), "TOOLPOST_CONFIG="+config, "TOOLPOST_STORE="+filepath.Join(store, "runs"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(&out, err)
	}
	return out.String()
}

// judge compares the files of a folder with the one that was asked for.
func judge(work string, t task) (string, error) {
	verdict := "no file"
	err := filepath.WalkDir(work, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(work, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		switch {
		case strings.HasPrefix(verdict, "wrong file"):
		case filepath.ToSlash(name) != t.path:
			verdict = fmt.Sprintf("wrong file %s", name)
		case strings.TrimRight(string(text), "\n") == t.content:
			verdict = "right"
		default:
			verdict = fmt.Sprintf("other text %q", text)
		}
		return nil
	})
	return verdict, err
}
