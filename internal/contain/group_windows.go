package contain

import (
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A group is a program and the processes it started: a job object. Windows ends
// all of them when the job is closed, also when this process ends.
type group struct {
	cmd *exec.Cmd
	job windows.Handle // 0 if there is none
}

func newGroup(cmd *exec.Cmd) *group {
	g := &group{cmd: cmd}
	cmd.Cancel = g.end
	return g
}

// start starts the program and puts it into a job before its first instruction.
// No process that it starts is outside of the job.
func (g *group) start() error {
	job, err := newJob()
	if err != nil {
		return err
	}
	g.job = job
	g.cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP}
	if err := g.cmd.Start(); err != nil {
		g.close()
		return err
	}
	pid := uint32(g.cmd.Process.Pid)
	if err := assign(job, pid); err != nil {
		return g.abandon(err)
	}
	if err := resume(pid); err != nil {
		return g.abandon(err)
	}
	return nil
}

// abandon ends a program that could not be contained.
func (g *group) abandon(err error) error {
	_ = g.cmd.Process.Kill()
	_ = g.cmd.Wait()
	g.close()
	return err
}

// end stops whatever is left of the group. The job stays until close.
func (g *group) end() error {
	if g.job == 0 {
		return nil
	}
	return windows.TerminateJobObject(g.job, 1)
}

// close ends the group for good. It must not be used afterwards.
func (g *group) close() {
	if g.job != 0 {
		_ = windows.CloseHandle(g.job)
		g.job = 0
	}
}

// wake does nothing: supervisors exist only on Linux.
func (g *group) wake() {}

// newJob returns a job that ends its processes when it is closed.
func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE},
	}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		_ = windows.CloseHandle(job)
		return 0, err
	}
	return job, nil
}

// assign puts a process into a job.
func assign(job windows.Handle, pid uint32) error {
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, pid)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(process)
	return windows.AssignProcessToJobObject(job, process)
}

// resume lets a process begin that was created suspended: it has one thread.
func resume(pid uint32) error {
	all, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(all)
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(all, &entry); err == nil; err = windows.Thread32Next(all, &entry) {
		if entry.OwnerProcessID != pid {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return err
		}
		defer windows.CloseHandle(thread)
		_, err = windows.ResumeThread(thread)
		return err
	}
	return err
}
